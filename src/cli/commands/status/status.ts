import type { Command } from 'commander';
import type { BreakerStatus, LaneStatus } from '../../../core/operator/views/pipeline-status.ts';
import type { BudgetStatus } from '../../../core/pacing/budget-status.ts';
import type { SweepRecord } from '../../../core/sweep/sweep-run.ts';
import { listSweeps, readStatus } from '../../../operator-service/overview.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { ago, table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, opsCommand, type Session } from '../../session/session.ts';

/** Enough sweeps to see that the schedule works. */
const SWEEPS_SHOWN = 3;

export function addStatus(program: Command, context: CliContext): void {
  const command = program
    .command('status')
    .description('count what is due, waiting, in flight and dead per channel and lane; show the last sweeps')
    .addHelpText(
      'after',
      `
due        notifications to retry now; one that is queued or being attempted is due until its outcome is written
waiting    notifications to retry later
in flight  messages that a channel function has received (an approximate count by SQS)
dead       given-up notifications; their dead letters wait for an operator
budgets    what SES allows, what was sent, and what waits or is paused (--json: in each lane of the channel)
breakers   providers that are down; held notifications count as waiting (--json: in each lane of the channel)

Examples:
  npm run ops -- status
  npm run ops -- status --local --json`,
    );
  onDeployment(command, context, showStatus);
}

async function showStatus(session: Session): Promise<number> {
  const { terminal } = session;
  const now = session.clock();
  const { lanes, breakers: down, budgets } = await readStatus(session);
  if (session.json) {
    terminal.print(
      `${JSON.stringify(lanes.map((lane) => ({ ...withBreakers(lane, down), budgets: budgetsOf(lane, budgets) })))}\n`,
    );
    return 0;
  }
  const sweeps = await listSweeps(SWEEPS_SHOWN, session);
  terminal.print(
    `${describe(lanes, session, now)}${describeBudgets(budgets, session, now)}${describeBreakers(down, session, now)}`,
  );
  if (sweeps.length > 0) terminal.print(`\n${describeSweeps(sweeps, session)}`);
  return 0;
}

/** A budget belongs to a channel, and both lanes share it. */
function budgetsOf({ channel }: LaneStatus, budgets: readonly BudgetStatus[]): BudgetStatus[] {
  return budgets.filter((budget) => budget.channel === channel);
}

/** A breaker belongs to a channel and holds the notifications of both lanes. */
function withBreakers(lane: LaneStatus, breakers: readonly BreakerStatus[]) {
  return { ...lane, breakers: breakers.filter(({ channel }) => channel === lane.channel) };
}

function describe(lanes: readonly LaneStatus[], session: Session, now: Date): string {
  const { colors } = session.terminal;
  const total = (of: (lane: LaneStatus) => number) => lanes.reduce((sum, lane) => sum + of(lane), 0);
  const dead = total((lane) => lane.dead);
  const lines = table<LaneStatus>(
    [
      { title: 'channel', of: ({ channel }) => channel },
      { title: 'lane', of: ({ lane }) => lane },
      { title: 'due', of: ({ due }) => due },
      { title: 'waiting', of: ({ waiting }) => waiting },
      { title: 'in flight', of: ({ in_flight }) => in_flight },
      { title: 'dead', of: (lane) => lane.dead },
      {
        title: 'oldest due',
        of: ({ oldest_due_at }) => oldest_due_at && `${oldest_due_at} (${ago(oldest_due_at, now)})`,
      },
    ],
    lanes,
    colors,
  );
  const next = dead > 0 ? `\n${colors.red(`${dead} dead`)}: ${opsCommand('list --status dead', session)}\n` : '';
  return `${lines}${next}`;
}

/** A table of the providers that are down; empty if all are up. */
function describeBreakers(breakers: readonly BreakerStatus[], session: Session, now: Date): string {
  const [first] = breakers;
  if (first === undefined) return '';
  const { colors } = session.terminal;
  const lines = table<BreakerStatus>(
    [
      { title: 'channel', of: ({ channel }) => channel },
      { title: 'integration', of: ({ integration }) => integration },
      { title: 'breaker', of: ({ state }) => state },
      { title: 'since', of: ({ since }) => `${since} (${ago(since, now)})` },
      { title: 'held', of: ({ held }) => held },
      { title: 'last error', of: ({ last_error }) => last_error },
      { title: 'next probe', of: ({ next_probe_at }) => next_probe_at },
    ],
    breakers,
    colors,
  );
  return `\n${colors.red('Providers that are down')}: their notifications are held and use up no retry\n${lines}\nTo see them: ${opsCommand(`list --status RETRY --channel ${first.channel}`, session)}\n`;
}

/** A table of the budgets that were used so far; empty if there are none. */
function describeBudgets(budgets: readonly BudgetStatus[], { terminal }: Session, now: Date): string {
  if (budgets.length === 0) return '';
  const lines = table<BudgetStatus>(
    [
      { title: 'budget', of: ({ channel }) => channel },
      { title: 'per second', of: ({ per_second, busy_receivers }) => per_second ?? `${busy_receivers} receivers busy` },
      { title: 'allowed', of: ({ allowed_per_second }) => allowed_per_second ?? undefined },
      { title: 'sent in 24 h', of: sentOf },
      { title: 'account', of: accountOf },
      { title: 'read', of: ({ read_at }) => read_at && ago(read_at, now) },
      { title: 'paused', of: pausedOf },
      { title: 'waiting until', of: ({ waiting_until }) => waiting_until.express ?? waiting_until.standard },
    ],
    budgets,
    terminal.colors,
  );
  return `\n${lines}`;
}

function sentOf({ sent_24h, max_24h }: BudgetStatus): string | undefined {
  if (sent_24h === null) return undefined;
  return max_24h === null ? `${sent_24h}` : `${sent_24h} of ${max_24h}`;
}

function accountOf({ enforcement, sending, production }: BudgetStatus): string | undefined {
  if (enforcement === null) return undefined;
  return [enforcement, sending === false && 'sending paused', production === false && 'sandbox']
    .filter(Boolean)
    .join(', ');
}

function pausedOf({ paused }: BudgetStatus): string | undefined {
  const [first] = paused;
  return first && `${paused.map(({ use }) => use).join(', ')} until ${first.until}`;
}

interface SweepsOptions {
  readonly limit: number;
}

export function addSweeps(program: Command, context: CliContext): void {
  const command = program
    .command('sweeps')
    .description('list the last sweeps of the dispatcher, newest first')
    .option('--limit <N>', 'sweeps', parseCount, 10)
    .addHelpText(
      'after',
      `
due         notifications that a sweep found due
dispatched  notifications that the sweep queued
skipped     notifications that the sweep left: the lane has a backlog, or SQS refused the message

The list does not hold runs of the job on your own machine (batch:notification-retry).

Examples:
  npm run ops -- sweeps
  npm run ops -- sweeps --limit 48 --json`,
    );
  onDeployment<SweepsOptions>(command, context, showSweeps);
}

async function showSweeps(session: Session, { limit }: SweepsOptions): Promise<number> {
  const { terminal } = session;
  const sweeps = await listSweeps(limit, session);
  if (session.json) terminal.print(`${JSON.stringify(sweeps)}\n`);
  else if (sweeps.length === 0) terminal.say('No sweep has been recorded in the last 30 days.\n');
  else terminal.print(describeSweeps(sweeps, session));
  return 0;
}

function describeSweeps(sweeps: readonly SweepRecord[], { terminal, clock }: Session): string {
  const now = clock();
  return table<SweepRecord>(
    [
      { title: 'sweep', of: ({ started_at }) => `${started_at} (${ago(started_at, now)})` },
      { title: 'seconds', of: ({ duration_ms }) => Math.round(duration_ms / 100) / 10 },
      { title: 'due', of: ({ due }) => due },
      { title: 'dispatched', of: ({ dispatched }) => dispatched },
      { title: 'skipped', of: ({ skipped }) => skipped },
      { title: 'run', of: ({ run_id, complete }) => (complete ? run_id : `${run_id}, not finished yet`) },
    ],
    sweeps,
    terminal.colors,
  );
}
