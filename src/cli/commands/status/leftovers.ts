import type { Command } from 'commander';
import { DEFAULT_STACK, STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import type { readLeftovers } from '../../../adapters/deployment/leftovers.ts';
import { describeCommand } from '../../../terminal/command.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import type { CliContext } from '../../session/session.ts';

/** After a deletion, it changes nothing and needs no stack. */
export function addLeftovers(parent: Command, context: CliContext, read: typeof readLeftovers = ofAccount): void {
  const command = describeCommand(parent, LEFTOVERS, {});
  command.action(async ({ json }: { json?: boolean }) => {
    const leftovers = await read(context.env[STACK_VARIABLE] ?? DEFAULT_STACK);
    printResult({ terminal: context.terminal, json: json === true }, { leftovers }, () =>
      leftovers.length === 0
        ? 'Nothing is left.\n'
        : table(leftovers, [
            ['what is left', 'what'],
            ['how to remove it', 'remove'],
          ]),
    );
  });
}

const ofAccount: typeof readLeftovers = async (...given) =>
  (await import('../../../adapters/deployment/leftovers.ts')).readLeftovers(...given);

const LEFTOVERS = {
  name: 'leftovers',
  says: 'list what a deleted or failed stack has left behind, and how to remove it',
  options: { '--json': 'print JSON on stdout' },
  help: `
Lists tables, keys, secrets, logs, queues, user pools and buckets that no stack owns any more. CloudFormation remembers
them for 90 days, including those that you have removed since; tables and secrets are found by name.

Example:
  ${STACK_VARIABLE}=notification-retry-prod npm run ops -- leftovers`,
} as const;
