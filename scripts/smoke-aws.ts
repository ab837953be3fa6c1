import { Command } from 'commander';
import { runCommand, writingTo } from '../src/terminal/run-command.ts';
import { processTerminal, type Terminal } from '../src/terminal/terminal.ts';
import { cdk, checkAccount, openAccount } from './smoke/account.ts';
import { CHECKS, costOf } from './smoke/checks.ts';
import { STACK } from './smoke/stack.ts';

/** Deployment, checks and destruction take about half an hour. */
const HOURS = 1;

interface Options {
  readonly account: string;
  readonly sender: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly keep?: boolean;
}

/** Deploys to a sandbox account, compares with what only AWS can show, and destroys (docs/smoke-test-on-aws.md). */
async function smoke(options: Options, terminal: Terminal): Promise<number> {
  terminal.print(plan(options));
  if (options.dryRun) return 0;
  if (!options.yes) {
    const answer = terminal.interactive ? await terminal.ask('Go on? [y/N] ') : '';
    if (!/^y/i.test(answer)) {
      terminal.say('Nothing was done. Without a terminal, --yes begins.\n');
      return 1;
    }
  }
  await checkAccount(options.account);
  try {
    cdk('deploy', options.sender);
    return await compare(terminal);
  } finally {
    if (!options.keep) cdk('destroy', options.sender);
  }
}

async function compare(terminal: Terminal): Promise<number> {
  const account = await openAccount();
  let failed = 0;
  for (const check of CHECKS) {
    try {
      await check.run(account);
      terminal.print(`✓ ${check.name}\n`);
    } catch (error) {
      failed += 1;
      terminal.print(
        `✗ ${check.name}: expected that ${check.expects}\n  ${error instanceof Error ? error.message : error}\n`,
      );
    }
  }
  terminal.print(`${CHECKS.length - failed} of ${CHECKS.length} checks passed\n`);
  return failed === 0 ? 0 : 1;
}

function plan({ account, sender, keep }: Options): string {
  const { resources, usd } = costOf(HOURS);
  return [
    `Deploys the stack ${STACK} to account ${account}, in the region of your environment, with the sender ${sender}.`,
    ...CHECKS.map(({ name, expects }) => `  ${name}: ${expects}`),
    keep
      ? `Leaves the stack ${STACK}; docs/smoke-test-on-aws.md tells how to destroy it.`
      : `Destroys the stack ${STACK} at the end.`,
    '',
    `It costs at most $${usd.toFixed(2)} when the stack exists for ${HOURS} hour (prices of us-east-1):`,
    ...resources.map((one) => `  ${one.count} × ${one.type}: $${one.usd.toFixed(3)}`),
    '',
  ].join('\n');
}

const terminal = processTerminal();
process.exitCode = await runCommand(process.argv.slice(2), terminal, (exitWith) =>
  writingTo(terminal, new Command('smoke:aws'))
    .description('Deploys to a sandbox account on AWS, checks what no emulator can show, and destroys.')
    .requiredOption('--account <id>', 'the sandbox account, 12 digits; nothing is done in another one')
    .requiredOption('--sender <address>', 'a sender that is verified in SES, in this account and region')
    .option('--dry-run', 'print plan and cost, and do nothing')
    .option('--keep', 'leave the stack, to look at what failed')
    .option('--yes', 'do not ask')
    .action(async (options: Options) => exitWith(await smoke(options, terminal))),
);
