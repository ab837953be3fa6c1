import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { readAccount } from '../../src/adapters/deployment/account-facts.ts';
import { readLeftovers } from '../../src/adapters/deployment/leftovers.ts';
import { preflight } from '../../src/application/preflight/preflight.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { runCommand, writingTo } from '../../src/terminal/command.ts';
import { processTerminal, type Terminal } from '../../src/terminal/terminal.ts';
import { checkAccount, openAccount, type SmokeAccount } from './account.ts';
import { type Check, ROW_CHECKS } from './checks.ts';
import { INTERFACE_CHECKS } from './interfaces.ts';
import { billOf, STACK } from './stack.ts';

/** About what two deployments, the checks and two destructions take; CloudFront takes most of it. */
const HOURS = 1;
/** A queue’s name can be used again a minute after its deletion. */
const NAMES_ARE_FREE_MS = 61_000;

interface Options {
  readonly account: string;
  readonly sender: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly keep?: boolean;
  readonly emulator?: string;
}

/** A step of the run itself, which is no matter of the deployed stack alone. */
interface Step extends Pick<Check, 'name' | 'expects'> {
  readonly run: () => Promise<void>;
}

/** The first hour of a stage on an account, step by step (docs/smoke-test-on-aws.md). */
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
  await lookBefore(options.sender, terminal);
  const began = Date.now();
  let failed = 0;
  try {
    const { before, after } = stepsOf(options);
    await before.run();
    const account = await openAccount(options.sender);
    failed += await runAll(checksOf(account, options), terminal);
    failed += await runAll(after, terminal);
  } finally {
    if (!options.keep) cdk('destroy', options);
    const hours = (Date.now() - began) / 3_600_000;
    terminal.print(`The stack existed for ${(hours * 60).toFixed(0)} minutes, which cost at most $${usd(hours)}.\n`);
  }
  return failed === 0 ? 0 : 1;
}

function checksOf(account: SmokeAccount, { emulator }: Options): Step[] {
  return [...ROW_CHECKS, ...INTERFACE_CHECKS]
    .filter(({ only_aws }) => emulator === undefined || only_aws === undefined)
    .map(({ name, expects, run }) => ({ name, expects, run: () => run(account) }));
}

/** What comes before and after the checks: the life of the stack. */
function stepsOf(options: Options): { readonly before: Step; readonly after: readonly Step[] } {
  const deploy = async () => {
    cdk('deploy', options);
  };
  return {
    before: { name: 'stack', expects: 'a first deployment succeeds', run: deploy },
    after: [
      {
        name: 'second deployment',
        expects: 'a deployment of what is there changes nothing',
        run: async () => {
          const said = cdk('deploy', options);
          if (!said.includes('(no changes)')) throw new Error('the deployment changed something');
        },
      },
      ...(options.keep
        ? []
        : [
            {
              name: 'destruction',
              expects: 'the stack goes with all its data, and leaves neither table nor secret',
              run: async () => {
                cdk('destroy', options);
                const left = await readLeftovers(STACK);
                if (left.length > 0) throw new Error(left.map(({ what, remove }) => `${what} ${remove}`).join('\n'));
              },
            },
            {
              name: 'redeployment',
              expects: 'the same stack is deployed again, and its sweep runs',
              run: async () => {
                if (options.emulator === undefined) await sleep(NAMES_ARE_FREE_MS);
                await deploy();
                await (await openAccount(options.sender)).sweep({ dry_run: true });
              },
            },
          ]),
    ],
  };
}

async function runAll(steps: readonly Step[], terminal: Terminal): Promise<number> {
  let failed = 0;
  for (const { name, expects, run } of steps) {
    try {
      await run();
      terminal.print(`✓ ${name}\n`);
    } catch (error) {
      failed += 1;
      terminal.print(`✗ ${name}: expected that ${expects}\n  ${error instanceof Error ? error.message : error}\n`);
    }
  }
  terminal.print(`${steps.length - failed} of ${steps.length} steps passed\n`);
  return failed;
}

/** @throws Error with all that this account lacks */
async function lookBefore(sender: string, terminal: Terminal): Promise<void> {
  const all = { channels: CHANNELS, api: true, newsletters: true, outcomes: true, monitoring: true, console: true };
  const wanted = { ...all, newsletter_senders: [], stage: STACK, retain: false };
  const findings = preflight(await readAccount(STACK, sender), wanted);
  for (const { state, says, remedy = '' } of findings) {
    if (state !== 'ok') terminal.print(`${state}: ${says} ${remedy}\n`);
  }
  if (findings.some(({ state }) => state === 'refused')) throw new Error('The account lacks what the stage needs.');
}

/** Runs `cdk deploy` or `cdk destroy` for the stage of the smoke test. @returns what it printed */
function cdk(command: 'deploy' | 'destroy', { sender, account, emulator }: Options): string {
  const app = emulator ?? 'node --import tsx tools/smoke/smoke-app.ts';
  const context = emulator === undefined ? ['-c', `sender=${sender}`, '-c', `account=${account}`] : [];
  const confirmed = command === 'deploy' ? ['--require-approval', 'never'] : ['--force'];
  const args = ['cdk', command, '--ci', '--app', app, ...context, ...confirmed];
  const { status, stdout } = spawnSync('npx', args, {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
    encoding: 'utf8',
  });
  process.stdout.write(stdout ?? '');
  if (status !== 0) throw new Error(`cdk ${command} ended with ${status}`);
  return stdout;
}

const usd = (hours: number) => billOf(hours).usd.toFixed(2);

function plan(options: Options): string {
  const { account, sender, keep, emulator } = options;
  const { before, after } = stepsOf(options);
  const checks = [...ROW_CHECKS, ...INTERFACE_CHECKS].map(({ name, expects, only_aws }) =>
    emulator !== undefined && only_aws !== undefined ? `  ${name}: left out, ${only_aws}` : `  ${name}: ${expects}`,
  );
  return [
    `Deploys the stack ${STACK} to account ${account}, in the region of your environment, with the sender ${sender}.`,
    '  preflight: the account has what the stage needs',
    `  ${before.name}: ${before.expects}`,
    ...checks,
    ...after.map(({ name, expects }) => `  ${name}: ${expects}`),
    keep
      ? `Leaves the stack ${STACK}; docs/smoke-test-on-aws.md tells how to destroy it.`
      : `Destroys the stack ${STACK} at the end.`,
    '',
    `It costs at most $${usd(HOURS)} when the stack exists for ${HOURS} hour (list prices of us-east-1):`,
    ...billOf(HOURS).lines.map(({ what, usd: each }) => `  ${what}: $${each.toFixed(3)}`),
    '',
  ].join('\n');
}

const terminal = processTerminal();
process.exitCode = await runCommand(process.argv.slice(2), terminal, (exitWith) =>
  writingTo(terminal, new Command('smoke:aws'))
    .description('Takes a stage through its first hour in a sandbox account on AWS, checks each step, and destroys it.')
    .requiredOption('--account <id>', 'the sandbox account, 12 digits; nothing is done in another one')
    .requiredOption('--sender <address>', 'a sender that is verified in SES, in this account and region')
    .option('--dry-run', 'print plan and cost, and do nothing')
    .option('--keep', 'leave the stack, to look at what failed')
    .option('--yes', 'do not ask')
    .option(
      '--emulator <assembly>',
      'deploy this cloud assembly to the emulator of AWS_ENDPOINT_URL, without what it lacks',
    )
    .action(async (options: Options) => exitWith(await smoke(options, terminal))),
);
