import { listSweeps, readStatus } from '../../../application/overview.ts';
import type { LaneStatus } from '../../../core/operator/views/pipeline-status.ts';
import type { BudgetStatus } from '../../../core/pacing/budget-status.ts';
import type { SweepRecord } from '../../../core/sweep/sweep-run.ts';
import { value } from '../../../terminal/command.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { printList } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { ago, type Column, table } from '../../../terminal/table.ts';
import { onDeployment, opsCommand, type Session } from '../../session/session.ts';

type Status = Awaited<ReturnType<typeof readStatus>>;

/** Enough sweeps to see that the schedule works. */
const SWEEPS_SHOWN = 3;

export const addStatus = onDeployment({
  name: 'status',
  says: 'count what is due, waiting, held, in flight and dead per channel and lane; show the last sweeps',
  help: `
Each unfinished notification is in one of the first four:
due        notifications to retry now
waiting    notifications to retry later
held       notifications whose provider is down, or has just come back
in flight  notifications that a channel function has received (an approximate count by SQS)
dead       given-up notifications; their dead letters wait for an operator
budgets    what SES allows, what was sent, and what waits or is paused (--json: in each lane of the channel)
breakers   providers that are down, how many each holds, and when it is probed next (--json: in each lane of the channel)

Examples:
  npm run ops -- status
  npm run ops -- status --local --json`,
  async run(session) {
    const { terminal } = session;
    const now = session.clock();
    const { lanes, breakers, budgets } = await readStatus(session);
    if (session.json) {
      // A breaker and a budget belong to a channel: both lanes share them.
      const withProviders = lanes.map((lane) => {
        const isOf = ({ channel }: { readonly channel: string }) => channel === lane.channel;
        return { ...lane, breakers: breakers.filter(isOf), budgets: budgets.filter(isOf) };
      });
      terminal.print(`${JSON.stringify(withProviders)}\n`);
      return;
    }
    const sweeps = await listSweeps(SWEEPS_SHOWN, session);
    terminal.print(
      `${describe(lanes, session, now)}${describeBudgets(budgets, now)}${describeBreakers(breakers, session, now)}`,
    );
    if (sweeps.length > 0) terminal.print(`\n${table(sweeps, sweepColumns(now))}`);
  },
});

function describe(lanes: readonly LaneStatus[], session: Session, now: Date): string {
  const dead = lanes.reduce((sum, lane) => sum + lane.dead, 0);
  const lines = table(lanes, [
    'channel',
    'lane',
    'due',
    'waiting',
    'held',
    ['in flight', 'in_flight'],
    'dead',
    ['oldest due', ({ oldest_due_at }) => oldest_due_at && ago(oldest_due_at, now)],
  ]);
  const next = dead > 0 ? `\n${COLORS.red(`${dead} dead`)}: ${opsCommand('list --status dead', session)}\n` : '';
  return `${lines}${next}`;
}

/** A table of the providers that are down; empty if all are up. */
function describeBreakers(breakers: Status['breakers'], session: Session, now: Date): string {
  const [first] = breakers;
  if (first === undefined) return '';
  const lines = table(breakers, [
    'channel',
    'integration',
    ['breaker', 'state'],
    ['since', ({ since }) => ago(since, now)],
    ['holds', 'notifications'],
    ['last error', 'last_error'],
    ['next probe', 'next_probe_at', 'wide'],
  ]);
  return `\n${COLORS.red('Providers that are down')}: their notifications are held and use up no retry\n${lines}\nTo see them: ${opsCommand(`list --status held --channel ${first.channel}`, session)}\n`;
}

/** A table of the budgets that were used so far; empty if there are none. */
function describeBudgets(budgets: readonly BudgetStatus[], now: Date): string {
  if (budgets.length === 0) return '';
  const lines = table(budgets, [
    ['budget', 'channel'],
    ['per second', ({ per_second, busy_receivers }) => per_second ?? `${busy_receivers} receivers busy`],
    ['allowed', 'allowed_per_second'],
    ['sent in 24 h', sentOf],
    ['account', accountOf, 'wide'],
    ['read', ({ read_at }) => read_at && ago(read_at, now), 'wide'],
    ['paused', pausedOf],
    ['waiting until', ({ waiting_until }) => waiting_until.express ?? waiting_until.standard],
  ]);
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

export const addSweeps = onDeployment({
  name: 'sweeps',
  says: 'list the last sweeps of the dispatcher, newest first',
  options: { '--limit <N>': value('sweeps', parseCount, 10) },
  help: `
due         notifications that a sweep found due
dispatched  notifications that the sweep queued
skipped     notifications that the sweep left: the lane has a backlog, or SQS refused the message

Runs of the job on your own machine (batch:notification-retry) are not listed.

Examples:
  npm run ops -- sweeps
  npm run ops -- sweeps --limit 48 --json`,
  async run(session, { limit }) {
    const sweeps = await listSweeps(limit, session);
    const none = 'No sweep has been recorded in the last 30 days.';
    printList(session, sweeps, sweeps, none, sweepColumns(session.clock()));
  },
});

function sweepColumns(now: Date): Column<SweepRecord>[] {
  return [
    ['sweep', ({ started_at }) => `${started_at} (${ago(started_at, now)})`],
    ['seconds', ({ duration_ms, complete }) => (complete ? Math.round(duration_ms / 100) / 10 : 'not finished yet')],
    'due',
    'dispatched',
    'skipped',
    ['run', 'run_id', 'wide'],
  ];
}
