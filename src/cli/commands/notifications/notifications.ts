import { act, type Results } from '../../../application/chosen/actions.ts';
import { shellCommand } from '../../../application/contract/choices.ts';
import { showNotification } from '../../../application/notifications.ts';
import { errorTypeIn, wrongPart } from '../../../core/model/error-types.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import type { QueueMessage } from '../../../core/model/queue-message.ts';
import type { Taken } from '../../../core/operator/dead-letters/dead-letter.ts';
import { heldBy, type NotificationView } from '../../../core/operator/views/notification-view.ts';
import { awaitOutcomes, OUTCOME_PATIENCE_MS } from '../../../core/sweep/await-outcomes.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { fields, table } from '../../../terminal/table.ts';
import { deleteLettersNow, onDeployment, type Session } from '../../session/session.ts';

export const addShow = onDeployment({
  name: 'show',
  says: 'show a notification, its attempts, and what to do about it; never its recipient or content',
  args: { '<LOG_ID>': 'the notification' },
  help: '\nExample:\n  npm run ops -- show 0198c3f2-7a44-7cc0-9d4e-2f5b8d3a1c11',
  async run(session, _, [log_id = '']) {
    const { notification, attempts, remedy } = await showNotification(log_id, session);
    printResult(session, { notification, attempts, remedy }, () => describe(notification, attempts, remedy, session));
  },
});

function describe(
  notification: NotificationView,
  attempts: readonly RetryRecord[],
  remedy: string | null,
  session: Session,
): string {
  const { log_id, state, ...rest } = notification;
  const columns = Object.entries(rest).filter(([, value]) => value !== '');
  const records = table(attempts, [
    ['attempt', 'retry_attempt'],
    ['at', 'retry_at'],
    ['status', 'retry_status'],
    ['error', 'error_type'],
    ['code', 'response_code', 'wide'],
    ['ms', 'duration_ms', 'wide'],
    ['trigger', ({ trigger, requested_by }) => (trigger === 'manual' ? (requested_by ?? trigger) : trigger), 'wide'],
    ['answer', answerOf],
  ]);
  const steps = [
    ...(remedy === null ? [] : [`${COLORS.yellow('What to do')}: ${remedy}\n`]),
    ...nextSteps(notification, session).map(([purpose, command]) => `${COLORS.yellow(purpose)}: ${command}\n`),
  ];
  return [
    `${COLORS.bold(String(log_id))}  ${state}`,
    fields(columns),
    attempts.length > 0 ? records : 'No attempt is recorded.\n',
    ...(steps.length > 0 ? [steps.join('')] : []),
  ].join('\n');
}

/** What to do by a command: each with its purpose. */
function nextSteps(
  { state, log_id, channel, failure_reason, error_message, successor_log_id }: NotificationView,
  { local }: Session,
): readonly (readonly [purpose: string, command: string])[] {
  const ids = [String(log_id)];
  const isOver = (state === 'dead' || state === 'stopped') && successor_log_id === undefined;
  const wrong = isOver ? wrongPart(errorTypeIn(failure_reason), error_message) : undefined;
  const purpose = wrong === 'recipient' ? 'To correct, with the address on stdin' : 'To correct';
  const correct = wrong ? [[purpose, shellCommand('correct', local, CORRECTIONS[wrong], ids)] as const] : [];
  if (state === 'dead') {
    return [
      ...correct,
      ['To redrive', shellCommand('retry', local, ['--redrive'], ids)],
      [`All of ${channel}`, shellCommand('dlq redrive', local, ['--channel', String(channel)])],
    ];
  }
  return correct;
}

const CORRECTIONS = { recipient: ['--recipient', '-'], body: ['--body', 'FILE'], integration: ['--integration', 'ID'] };

/** The provider's answer, or what held the attempt: a provider that was down, or a budget. */
function answerOf(record: RetryRecord): string | undefined {
  const { retry_status, response_message, uncounted } = record;
  const held = heldBy(record);
  if (held !== undefined) return held;
  return retry_status === 'FAILED' && uncounted
    ? `${response_message ?? 'no answer'} (used up no retry)`
    : response_message;
}

const CHOSEN = { '<LOG_ID...>': 'the notifications' };

export const addRetry = onDeployment({
  name: 'retry',
  says: 'attempt notifications now instead of at their next automatic retry',
  args: CHOSEN,
  options: {
    '--wait': 'wait for the outcomes, and count them',
    '--redrive': 'start dead notifications again with a full budget of retries',
  },
  help: `
A dead notification gets one attempt, and is dead again if that fails; with --redrive it starts again. A notification that was cancelled, or
whose dead letter was dropped, starts again with a full budget. A delivered notification is never sent again.

Example:
  npm run ops -- retry NL103 NL104 --wait`,
  async run(session, { wait, redrive = false }, log_ids) {
    const { rows, pause, decide } = session;
    const queued: QueueMessage[] = [];
    const onQueued = (messages: readonly QueueMessage[]) => queued.push(...messages);
    let dead: Taken | undefined;
    const deleteLetters = async (taken: Taken) => {
      dead = taken;
    };
    const deps = { ...session, onQueued, deleteLetters };
    const results = await decide(act({ action: redrive ? 'redrive' : 'retry', log_ids }, deps));
    const patience = { now: Date.now, patience_ms: OUTCOME_PATIENCE_MS };
    const outcomes = wait ? await awaitOutcomes(queued, { read: rows.read, pause, ...patience }) : undefined;
    printResult(session, { results, ...(outcomes && { outcomes }) }, () => {
      const counts = Object.entries(outcomes ?? {}).map(([status, number]) => `${status} ${number}`);
      return `${describeResults(results)}${outcomes ? `${counts.join('  ')}\n` : ''}`;
    });
    // Until its one attempt is over, a dead notification keeps its letter.
    if (dead !== undefined && (redrive || wait)) await deleteLettersNow(dead, session);
    return results.every(({ result }) => result === 'queued') ? 0 : EXIT_FAILED;
  },
});

export const addCancel = onDeployment({
  name: 'cancel',
  says: 'cancel the remaining retries; the row stays, FAILED with failure_reason CANCELLED',
  args: CHOSEN,
  help: `
A cancelled notification is no longer dead, and its dead letter is deleted.
\`retry\` starts a cancelled notification again. If an answer names a successor, the notification goes on there, on its
fallback channel, and is just being sent: cancel it again a minute later.

Example:
  npm run ops -- cancel NL103 NL104`,
  async run(session, _, log_ids) {
    const deleteLetters = (taken: Taken) => deleteLettersNow(taken, session);
    const results = await session.decide(act({ action: 'cancel', log_ids }, { ...session, deleteLetters }));
    printResult(session, { results }, () => describeResults(results));
    return results.every(({ result }) => result === 'cancelled' || result === 'ended') ? 0 : EXIT_FAILED;
  },
});

function describeResults(results: Results): string {
  const lines = results.map(({ log_id, result, ...why }) => {
    const isDone = result === 'queued' || result === 'cancelled';
    const word = isDone ? COLORS.green(result) : COLORS.yellow(result.replace('_', ' '));
    return `${log_id}  ${word}${'because' in why ? `: ${why.because}` : ''}\n`;
  });
  return lines.join('');
}
