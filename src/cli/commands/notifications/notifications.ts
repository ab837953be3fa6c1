import type { Command } from 'commander';
import type { RetryRecord } from '../../../core/model/notification.ts';
import type { QueueMessage } from '../../../core/model/queue-message.ts';
import { heldBy, type NotificationView } from '../../../core/operator/views/notification-view.ts';
import { awaitOutcomes, OUTCOME_PATIENCE_MS, type Outcomes } from '../../../core/sweep/await-outcomes.ts';
import { act } from '../../../operator-service/actions.ts';
import { showNotification } from '../../../operator-service/notifications.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields, table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, opsCommand, type Session } from '../../session/session.ts';

export function addShow(program: Command, context: CliContext): void {
  const command = program
    .command('show')
    .argument('<LOG_ID>', 'the notification')
    .description('show a notification, its attempts, and what to do about it; never its recipient or content')
    .addHelpText('after', '\nExample:\n  npm run ops -- show 0198c3f2-7a44-7cc0-9d4e-2f5b8d3a1c11');
  onDeployment(command, context, (session, _, [log_id = '']) => show(session, log_id));
}

async function show(session: Session, log_id: string): Promise<number> {
  const { notification, attempts, remedy } = await showNotification(log_id, session);
  printResult(session, { notification, attempts, remedy }, () => describe(notification, attempts, remedy, session));
  return 0;
}

function describe(
  notification: NotificationView,
  attempts: readonly RetryRecord[],
  remedy: string | null,
  session: Session,
): string {
  const { colors } = session.terminal;
  const { log_id, state, ...rest } = notification;
  const columns = Object.entries(rest).filter(([, value]) => value !== '');
  const records = table<RetryRecord>(
    [
      { title: 'attempt', of: ({ retry_attempt }) => retry_attempt },
      { title: 'at', of: ({ retry_at }) => retry_at },
      { title: 'status', of: ({ retry_status }) => retry_status },
      { title: 'error', of: ({ error_type }) => error_type },
      { title: 'code', of: ({ response_code }) => response_code },
      { title: 'ms', of: ({ duration_ms }) => duration_ms },
      {
        title: 'trigger',
        of: ({ trigger, requested_by }) => (trigger === 'manual' ? (requested_by ?? trigger) : trigger),
      },
      { title: 'answer', of: answerOf },
    ],
    attempts,
    colors,
  );
  const steps = [
    ...(remedy === null ? [] : [`${colors.yellow('What to do')}: ${remedy}\n`]),
    ...(state === 'dead'
      ? [`${colors.yellow('To redrive')}: ${opsCommand(`dlq redrive --channel ${rest['channel']}`, session)}\n`]
      : []),
  ];
  return [
    `${colors.bold(String(log_id))}  ${state}`,
    fields(columns, colors),
    attempts.length > 0 ? records : 'No attempt is recorded.\n',
    ...(steps.length > 0 ? [steps.join('')] : []),
  ].join('\n');
}

/** The provider's answer, or what held the attempt: a provider that was down, or a budget. */
function answerOf(record: RetryRecord): string | undefined {
  const { retry_status, response_message, uncounted } = record;
  const held = heldBy(record);
  if (held !== undefined) return held;
  return retry_status === 'FAILED' && uncounted
    ? `${response_message ?? 'no answer'} (used up no retry)`
    : response_message;
}

interface RetryOptions {
  readonly wait?: boolean;
  readonly redrive?: boolean;
}

export function addRetry(program: Command, context: CliContext): void {
  const command = program
    .command('retry')
    .argument('<LOG_ID...>', 'the notifications')
    .option('--wait', 'wait for the outcomes, and count them')
    .option('--redrive', 'start dead notifications again with a full budget of retries')
    .description('attempt notifications now instead of at their next automatic retry')
    .addHelpText(
      'after',
      `
A dead notification gets one attempt, and is dead again if that fails; with --redrive it starts again. A notification that was cancelled, or
whose dead letter was dropped, starts again with a full budget. A delivered notification is never sent again.

Example:
  npm run ops -- retry NL103 NL104 --wait`,
    );
  onDeployment<RetryOptions>(command, context, retry);
}

async function retry(
  session: Session,
  { wait, redrive = false }: RetryOptions,
  log_ids: readonly string[],
): Promise<number> {
  const { json, terminal, decide } = session;
  const { results, messages } = await act({ action: redrive ? 'redrive' : 'retry', log_ids }, session, decide);
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

export function addCancel(program: Command, context: CliContext): void {
  const command = program
    .command('cancel')
    .argument('<LOG_ID...>', 'the notifications')
    .description('end the retries: FAILED with failure_reason CANCELLED; row and records stay')
    .addHelpText(
      'after',
      `
A cancelled notification is no longer dead. Its dead letter stays in the queue, and a redrive of it does nothing.
\`retry\` starts a cancelled notification again.

Example:
  npm run ops -- cancel NL103 NL104`,
    );
  onDeployment(command, context, (session, _, log_ids) => cancelAll(session, log_ids));
}

async function cancelAll(session: Session, log_ids: readonly string[]): Promise<number> {
  const { json, terminal, decide } = session;
  const { results } = await act({ action: 'cancel', log_ids }, session, decide);
  if (json) terminal.print(`${JSON.stringify({ results })}\n`);
  else printResults(results, session);
  return results.every(({ result }) => result === 'cancelled' || result === 'ended') ? 0 : EXIT_FAILED;
}

/** What a command did with a notification. */
interface NotificationResult {
  readonly log_id: string;
  readonly result: string;
  /** Why the command did nothing. */
  readonly because?: string;
}

const SUCCESSFUL = new Set(['queued', 'cancelled', 'dropped']);

/** Prints one line per notification. */
function printResults(results: readonly NotificationResult[], { terminal }: Session): void {
  const { colors } = terminal;
  for (const { log_id, result, because } of results) {
    const word = SUCCESSFUL.has(result) ? colors.green(result) : colors.yellow(result.replace('_', ' '));
    terminal.print(`${log_id}  ${word}${because === undefined ? '' : `: ${because}`}\n`);
  }
}
