import type { Command } from 'commander';
import { newRunId, type QueueMessage } from '../../../core/model/queue-message.ts';
import { type RetryResult, retryNow } from '../../../core/operator/retry-now.ts';
import { awaitOutcomes, type Outcomes } from '../../../core/sweep/await-outcomes.ts';
import { FAILED } from '../../../terminal/errors.ts';
import { showResults } from '../../session/results.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface RetryOptions {
  readonly wait?: boolean;
}

/** Longer than a message whose worker died stays invisible, so that its second delivery is still waited for. */
const PATIENCE_MS = 7 * 60_000;

export function addRetry(program: Command, context: CliContext): void {
  const command = program
    .command('retry')
    .argument('<LOG_ID...>', 'the notifications')
    .option('--wait', 'wait for the outcomes and count them')
    .description('attempt notifications now, in place of the automatic retry they wait for')
    .addHelpText(
      'after',
      `
A dead one gets one attempt; if that fails, it is dead again. One that was cancelled, or whose dead letter was dropped,
starts anew. What was delivered is never sent again.

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
    showResults<RetryResult>(results, session);
    if (outcomes) {
      const counts = Object.entries(outcomes).map(([status, number]) => `${status} ${number}`);
      terminal.print(`${counts.join('  ')}\n`);
    }
  }
  return results.every(({ result }) => result === 'queued') ? 0 : FAILED;
}

function outcomesOf(messages: readonly QueueMessage[], { rows, pause }: Session): Promise<Outcomes> {
  return awaitOutcomes(messages, { read: rows.read, pause, now: Date.now, patience_ms: PATIENCE_MS });
}
