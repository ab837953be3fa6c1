import type { ReplayTally } from '../../../core/operator/replay/replay.ts';
import type { Exclusion } from '../../../core/operator/replay/replay-exclusions.ts';
import type { NotificationView } from '../../../core/operator/views/notification-view.ts';
import type { Colors } from '../../../terminal/colors.ts';
import { table } from '../../../terminal/table.ts';

const EXCLUSION_TEXTS: Readonly<Record<Exclusion, string>> = {
  delivered: 'delivered in the meantime',
  claimed: 'an attempt is under way',
  retrying: 'waits for its automatic retry',
  expired: 'older than --max-age',
  deleted: 'its writer deleted it (is_deleted)',
  dropped: 'its dead letter was dropped; --include-stopped includes it',
  set_aside: 'malformed when it was written; its writer has to correct it',
  recipient_suppressed: 'the recipient complained, or SES suppresses the address',
  replayed: 'already sent by this replay',
  beyond_limit: 'beyond --limit',
  INVALID_RECIPIENT: 'wrong recipient: correct it first; --include-stopped includes it',
  failed_over: 'failed over to another channel; replay the notification there',
  CANCELLED: 'cancelled; --include-stopped includes it',
};

/** What a replay would do. */
export function describePreview(tally: ReplayTally, colors: Colors): string {
  const sample = table<NotificationView>(
    [
      { title: 'for example', of: (row) => String(row['log_id']) },
      { title: 'tenant', of: (row) => row['tenant_id'] as string },
      { title: 'channel', of: (row) => row['channel'] as string },
      { title: 'priority', of: (row) => row['priority'] as string },
      { title: 'reason', of: (row) => row['failure_reason'] as string },
      { title: 'last error', of: (row) => row['error_type'] as string | undefined },
    ],
    tally.sample,
    colors,
  );
  return `${describeCounts(tally, 'to send', colors)}${tally.sample.length > 0 ? `\n${sample}` : ''}`;
}

/** What a replay did. */
export function describeReplay(replay_id: string, tally: ReplayTally, colors: Colors): string {
  const left =
    tally.left_to_sweep > 0 ? `SQS refused ${tally.left_to_sweep} of the messages; the next sweep sends them.\n` : '';
  return `${colors.bold(replay_id)}\n${describeCounts(tally, 'sent', colors)}${left}`;
}

function describeCounts({ matched, excluded, to_send }: ReplayTally, verb: string, colors: Colors): string {
  const line = (count: number, what: string) => `  ${String(count).padStart(7)}  ${what}\n`;
  const reasons = Object.entries(excluded).map(([reason, count]) =>
    line(count, `${colors.dim('excluded:')} ${EXCLUSION_TEXTS[reason as Exclusion]}`),
  );
  return [line(matched, 'match'), ...reasons, line(to_send, colors.green(verb))].join('');
}
