import type { Command } from 'commander';
import { parseCount } from '../../../terminal/option-values.ts';
import { type CliContext, onDeployment } from '../../session/session.ts';

interface ConsoleOptions {
  readonly port?: number;
}

export function addConsole(program: Command, context: CliContext): void {
  const command = program
    .command('console')
    .option('--port <N>', 'port on this machine; any free one by default', parseCount)
    .description('serve the console on this machine until Ctrl-C; it works with your own credentials')
    .addHelpText(
      'after',
      `
Open the printed address: it holds a token in its fragment, which the page exchanges for a cookie once. Who has neither
gets nothing but the page's files. What is done here is written to the audit log under your AWS identity, or
with --local under the name of your user.

Examples:
  npm run ops -- console
  npm run ops -- console --local --port 8081`,
    );
  // Loaded on use: the other commands do without its routes.
  onDeployment<ConsoleOptions>(command, context, async (session, { port = 0 }) =>
    (await import('./run-console.ts')).runConsole(session, port),
  );
}
