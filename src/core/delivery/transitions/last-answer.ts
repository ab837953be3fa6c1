import { type NotificationRow, UPDATED_BY } from '../../model/notification.ts';
import { type RowChange, withChange } from '../../model/row-change.ts';
import { clip, roomLeft, rowBytes, utf8Bytes } from '../../model/text.ts';
import type { Attempt } from '../attempt.ts';

/** Longest text, in characters, that keeps a row below one write unit of 1 KB. */
export const ROW_TEXT = 100;

/** The part of the last answer that the row keeps: the reason, in short. The retry record has the rest. */
export function answerColumns({ result, verdict }: Attempt<'judged'>): Partial<NotificationRow> {
  return {
    ...(result?.response_code !== undefined && { response_code: clip(result.response_code, 20) }),
    ...(result?.ok && result.response_message && { response_message: clip(result.response_message, ROW_TEXT) }),
    ...(verdict.status !== 'SUCCESS' && { error_type: verdict.error_type }),
    ...(result?.ok === false && { error_message: clip(result.message, ROW_TEXT) }),
  };
}

/** `error_details`, which takes what the other columns leave of the write unit. */
export function describedFailure(
  { row, result, ended }: Attempt<'judged'>,
  change: RowChange,
): Partial<NotificationRow> {
  if (change.set.send_status === 'SUCCESS') return row.error_details ? { error_details: '' } : {};
  if (result?.ok !== false) return {};
  const { error_type, response_code, message } = result;
  return errorDetails(withChange(row, change), {
    type: error_type,
    ...(response_code !== undefined && { code: clip(response_code, 20) }),
    message,
    attempt: row.last_attempt,
    at: ended.toISOString(),
  });
}

/** The failure that a row describes last. */
export interface LastFailure {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly attempt: number;
  /** ISO-8601 UTC. */
  readonly at: string;
}

/** What other columns of the row say, too (error_type, response_code, error_message), comes last. */
const BY_IMPORTANCE = ['attempt', 'at', 'type', 'code'] as const;
/** In characters, the longest first. */
const MESSAGE_LENGTHS = [100, 50, 25] as const;

/**
 * `error_details` of a row (his-notification-log-table.md: JSON), as far as it fits into the write unit that the row
 * needs without it: a failure must not make each further write more expensive. Whatever does not fit is in the retry
 * record. Empty when nothing fits and an earlier failure is described; absent when none is.
 * @param row as it is after the change
 */
export function errorDetails(row: NotificationRow, failure: LastFailure): Pick<NotificationRow, 'error_details'> {
  const { error_details: earlier, ...rest } = row;
  // What each write adds.
  const written = { ...rest, error_details: '', updated_at: failure.at, updated_by: UPDATED_BY };
  const room = roomLeft(rowBytes(written));
  const fits = (described: Partial<LastFailure>) => utf8Bytes(JSON.stringify(described)) <= room;
  let described: Partial<LastFailure> = {};
  for (const name of BY_IMPORTANCE) {
    const more = { ...described, [name]: failure[name] };
    if (fits(more)) described = more;
  }
  for (const length of MESSAGE_LENGTHS) {
    const more = { ...described, message: clip(failure.message, length) };
    if (described.message === undefined && fits(more)) described = more;
  }
  if (Object.keys(described).length > 0) return { error_details: JSON.stringify(described) };
  return earlier ? { error_details: '' } : {};
}
