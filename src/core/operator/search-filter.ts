import { type Channel, type Priority, priorityOf } from '../model/channels.ts';
import { type ErrorType, errorTypeIn } from '../model/error-types.ts';
import { createdAt } from '../model/history-index.ts';
import type { ForeignRow, SendStatus } from '../model/notification.ts';
import { shownText } from '../model/text.ts';
import { isoBefore, parseTime } from '../model/time.ts';

/** In a filter: the column holds nothing. No id and no error type, so that it can stand in a URL and in an option. */
export const NONE = '(none)';

/** Inclusive, ISO-8601 UTC with milliseconds. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** The period of a request that may leave out its ends: until now, and from so long before its end. */
export function periodOf(
  { from, to }: { readonly [K in keyof Period]?: string | undefined },
  now: Date,
  longest_ms: number,
): Period {
  const end = to ?? now.toISOString();
  return { from: from ?? isoBefore(end, longest_ms), to: end };
}

export const ALWAYS: Period = { from: '0000', to: '9999-12-31T23:59:59.999Z' };

/** An operator's search. All given conditions must hold. */
export interface SearchFilter {
  readonly send_status?: SendStatus;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant_id?: string;
  /** The type of the last error, or the reason why it was given up. */
  readonly error_type?: ErrorType;
  /** The reason why it was given up, alone. */
  readonly failure_reason?: ErrorType;
  /** The type of the last error, alone. */
  readonly last_error?: ErrorType | typeof NONE;
  /** An id, or NONE. */
  readonly integration_config_id?: string;
  /** Keyed hash: a search needs the address, and the index never contains it. */
  readonly recipient_hash?: string;
  readonly created?: Period;
  readonly scheduled?: Period;
  readonly sent?: Period;
  /** Both included. */
  readonly send_attempts?: { readonly least: number; readonly most: number };
}

/** Decides by the current row. Indexes only reduce the number of rows that have to be read. */
export function matches(row: ForeignRow, filter: SearchFilter): boolean {
  const { send_status, channel, priority, tenant_id, error_type, recipient_hash, created } = filter;
  const { scheduled, sent, send_attempts, failure_reason, last_error, integration_config_id } = filter;
  const type = row['channel'] ?? shownText(row['notification_type'])?.toLowerCase();
  const attempts = typeof row['send_attempts'] === 'number' ? row['send_attempts'] : 0;
  return (
    (send_status === undefined || row['send_status'] === send_status) &&
    (channel === undefined || type === channel) &&
    (priority === undefined || priorityOf(row) === priority) &&
    (tenant_id === undefined || row['tenant_id'] === tenant_id) &&
    (error_type === undefined || row['error_type'] === error_type || row['failure_reason'] === error_type) &&
    (failure_reason === undefined || row['failure_reason'] === failure_reason) &&
    (last_error === undefined || (lastErrorOf(row) ?? NONE) === last_error) &&
    (integration_config_id === undefined || (integrationOf(row) ?? NONE) === integration_config_id) &&
    (recipient_hash === undefined || row['recipient_hash'] === recipient_hash) &&
    (send_attempts === undefined || (attempts >= send_attempts.least && attempts <= send_attempts.most)) &&
    within(createdAt(row), created) &&
    within(row['scheduled_at'], scheduled) &&
    within(row['sent_at'], sent)
  );
}

/** The integration of a row, by which it is found and grouped. */
export function integrationOf(row: ForeignRow): string | undefined {
  const id = row['integration_config_id'];
  return typeof id === 'string' && id !== '' && id !== NONE ? id : undefined;
}

/** The last error of a row. One that was never attempted here may hold the words of its writer, which are none. */
export const lastErrorOf = (row: ForeignRow): ErrorType | undefined => errorTypeIn(row['error_type']);

/** A writer may have written the time in another form than a period has. */
function within(value: unknown, period: Period | undefined): boolean {
  if (period === undefined) return true;
  const time = typeof value === 'string' ? parseTime(value)?.toISOString() : undefined;
  return time !== undefined && time >= period.from && time <= period.to;
}
