import type { Command } from 'commander';
import { lastSweeps } from '../../../adapters/dynamodb/sweep/sweep-log.ts';
import type { SweepRecord } from '../../../core/sweep/sweep-record.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { ago, table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

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
  const { deployment, dynamodb, terminal } = session;
  const sweeps = await lastSweeps(dynamodb, deployment.tables.pipeline_state, limit);
  if (session.json) terminal.print(`${JSON.stringify(sweeps)}\n`);
  else if (sweeps.length === 0) terminal.say('No sweep has been recorded in the last 30 days.\n');
  else terminal.print(describeSweeps(sweeps, session));
  return 0;
}

export function describeSweeps(sweeps: readonly SweepRecord[], { terminal, clock }: Session): string {
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
