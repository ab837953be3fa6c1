import type { Command } from 'commander';
import { newRunId, type QueueMessage } from '../../../core/model/queue-message.ts';
import { retryNow } from '../../../core/operator/retry-now.ts';
import { awaitOutcomes, OUTCOME_PATIENCE_MS, type Outcomes } from '../../../core/sweep/await-outcomes.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { printResults } from './notification-results.ts';

interface RetryOptions {
  readonly wait?: boolean;
}

export function addRetry(program: Command, context: CliContext): void {
  const command = program
    .command('retry')
    .argument('<LOG_ID...>', 'the notifications')
    .option('--wait', 'wait for the outcomes, and count them')
    .description('attempt notifications now instead of at their next automatic retry')
    .addHelpText(
      'after',
      `
A dead notification gets one attempt; if that fails, the notification is dead again. A notification that was cancelled, or
whose dead letter was dropped, starts again with a full budget. A delivered notification is never sent again.

Example:
  npm run ops -- retry NL103 NL104 --wait`,
    );
  onDeployment<RetryOptions>(command, context, retry);
}

async function retry(session: Session, { wait }: RetryOptions, log_ids: readonly string[]): Promise<number> {
  const { deployment, lanes, rows, clock, json, terminal } = session;
  const { results, messages } = await retryNow(log_ids, newRunId('manual', session.newId()), {
    rows,
    send: lanes.send,
    policy: deployment.retry_policy,
    clock,
  });
  const outcomes = wait ? await outcomesOf(messages, session) : undefined;
  if (json) terminal.print(`${JSON.stringify({ results, ...(outcomes && { outcomes }) })}\n`);
  else {
    printResults(results, session);
    if (outcomes) {
      const counts = Object.entries(outcomes).map(([status, number]) => `${status} ${number}`);
      terminal.print(`${counts.join('  ')}\n`);
    }
  }
  return results.every(({ result }) => result === 'queued') ? 0 : EXIT_FAILED;
}

function outcomesOf(messages: readonly QueueMessage[], { rows, pause }: Session): Promise<Outcomes> {
  return awaitOutcomes(messages, { read: rows.read, pause, now: Date.now, patience_ms: OUTCOME_PATIENCE_MS });
}
