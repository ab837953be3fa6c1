import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import { createOwnConsole } from '../../../console-server/console.ts';
import { serveConsole } from '../../../console-server/loopback/serve-console.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface ConsoleOptions {
  readonly port?: number;
}

const PAGE = join(import.meta.dirname, '..', '..', '..', '..', 'console', 'dist');

export function addConsole(program: Command, context: CliContext): void {
  const command = program
    .command('console')
    .option('--port <N>', 'port on this machine; any free one by default', parseCount)
    .description('serve the console on this machine until Ctrl-C; it works with your own credentials')
    .addHelpText(
      'after',
      `
Open the printed address: it holds a token in its fragment, which the page exchanges for a cookie once. Who has neither
gets nothing but the page's files. What is done here is written to the audit log under the name of your user.

Examples:
  npm run ops -- console
  npm run ops -- console --local --port 8081`,
    );
  onDeployment<ConsoleOptions>(command, context, runConsole);
}

async function runConsole(session: Session, { port = 0 }: ConsoleOptions): Promise<number> {
  const { deployment, dynamodb, sqs, clock, newId, local, json, env, terminal } = session;
  const own = createOwnConsole({
    deployment,
    dynamodb,
    sqs,
    clock,
    newId,
    local,
    stage: local ? 'local' : (env[STACK_VARIABLE] ?? 'notification-retry-dev'),
    region: String(await dynamodb.config.region()),
    onRecord: () => {},
    onFault: (error, route) => terminal.say(`${route} failed: ${error instanceof Error ? error.message : error}\n`),
  });
  const served = await serveConsole({
    dispatch: own.dispatch,
    page: PAGE,
    port,
    caller: { who: userInfo().username, role: 'operator' },
    token: true,
    local,
  });
  terminal.print(json ? `${JSON.stringify({ url: served.url })}\n` : `${served.url}\n`);
  if (!json)
    terminal.say('Open this address in a browser. Ctrl-C ends the console; operations go on when it runs again.\n');
  await own.resume();
  await session.stopped();
  await served.close();
  await own.stop();
  return 0;
}
