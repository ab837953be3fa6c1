import type { Command } from 'commander';
import { readRecords } from '../../../adapters/dynamodb/operator/operator-records.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { heldBy } from '../../../core/operator/views/held-attempt.ts';
import { type NotificationView, remedyFor, viewOf } from '../../../core/operator/views/notification-view.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields, table } from '../../../terminal/table.ts';
import { opsCommand } from '../../session/next-step.ts';
import { notificationNotFound } from '../../session/not-found.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

export function addShow(program: Command, context: CliContext): void {
  const command = program
    .command('show')
    .argument('<LOG_ID>', 'the notification')
    .description('show a notification, its attempts, and what to do about it; never its recipient or content')
    .addHelpText('after', '\nExample:\n  npm run ops -- show 0198c3f2-7a44-7cc0-9d4e-2f5b8d3a1c11');
  onDeployment(command, context, (session, _, [log_id = '']) => show(session, log_id));
}

async function show(session: Session, log_id: string): Promise<number> {
  const row = await session.rows.read(log_id);
  if (row === undefined) throw notificationNotFound(log_id);
  const attempts = await readRecords(session.dynamodb, session.deployment.tables.notification_retry_log, log_id);
  const notification = viewOf({ ...row }, session.clock());
  const remedy = remedyFor({ ...row });
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
