import type { Exclusion } from '../../../core/operator/operations/exclusions.ts';
import type { Counts, Operation } from '../../../core/operator/operations/operation.ts';
import { type NotificationView, viewOf } from '../../../core/operator/views/notification-view.ts';
import type { Colors } from '../../../terminal/colors.ts';
import { table } from '../../../terminal/table.ts';
import type { Session } from '../../session/session.ts';

const EXCLUSION_TEXTS: Readonly<Record<Exclusion, string>> = {
  delivered: 'delivered in the meantime',
  claimed: 'an attempt is under way',
  retrying: 'waits for its automatic retry',
  expired: 'older than --max-age',
  deleted: 'its writer deleted it (is_deleted)',
  dropped: 'its dead letter was dropped; --include-stopped includes it',
  set_aside: 'malformed when it was written; its writer has to correct it',
  recipient_suppressed: 'the recipient complained, or SES suppresses the address',
  beyond_limit: 'beyond --limit',
  changed: 'changed after the preview began; a new replay takes it if it still matches',
  INVALID_RECIPIENT: 'wrong recipient: correct it first; --include-stopped includes it',
  failed_over: 'failed over to another channel; replay the notification there',
  CANCELLED: 'cancelled; --include-stopped includes it',
};

export interface Preview {
  readonly counts: Counts;
  readonly to_send: number;
  readonly sample: readonly NotificationView[];
}

/** The first few that a replay takes, as they are now, without those that it has taken already. */
export async function sampleOf(
  log_ids: readonly string[],
  { rows, clock }: Pick<Session, 'rows' | 'clock'>,
  operation_id?: string,
): Promise<NotificationView[]> {
  const found = await Promise.all(log_ids.map((log_id) => rows.read(log_id)));
  const left = found
    .filter((row) => row !== undefined)
    .filter(({ replay_id }) => operation_id === undefined || replay_id !== operation_id);
  return left.map((row) => viewOf({ ...row }, clock()));
}

/** What a replay would do. */
export function describePreview({ counts, to_send, sample }: Preview, colors: Colors): string {
  const shown = table<NotificationView>(
    [
      { title: 'for example', of: (row) => String(row['log_id']) },
      { title: 'tenant', of: (row) => row['tenant_id'] as string },
      { title: 'channel', of: (row) => row['channel'] as string },
      { title: 'priority', of: (row) => row['priority'] as string },
      { title: 'reason', of: (row) => row['failure_reason'] as string },
      { title: 'last error', of: (row) => row['error_type'] as string | undefined },
    ],
    sample,
    colors,
  );
  return `${describeCounts(counts, to_send, 'to send', colors)}${sample.length > 0 ? `\n${shown}` : ''}`;
}

/** What a replay did. */
export function describeReplay({ operation_id, progress }: Operation, sent: number, colors: Colors): string {
  const before = progress.taken - sent;
  const line = before > 0 ? `  ${String(before).padStart(7)}  sent before\n` : '';
  const left =
    progress.left_to_sweep > 0
      ? `SQS refused ${progress.left_to_sweep} of the messages; the next sweep sends them.\n`
      : '';
  return `${colors.bold(operation_id)}\n${describeCounts(progress, sent, 'sent', colors)}${line}${left}`;
}

function describeCounts({ matched, excluded }: Counts, number: number, verb: string, colors: Colors): string {
  const line = (count: number, what: string) => `  ${String(count).padStart(7)}  ${what}\n`;
  const reasons = Object.entries(excluded).map(([reason, count]) =>
    line(count, `${colors.dim('excluded:')} ${EXCLUSION_TEXTS[reason as Exclusion]}`),
  );
  return [line(matched, 'match'), ...reasons, line(number, colors.green(verb))].join('');
}
