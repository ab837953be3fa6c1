import type { RowFault } from '../column-rules.ts';
import { type NotificationRow, UPDATED_BY } from '../notification.ts';
import { clip } from '../text.ts';

/** Longest description of faults, in characters: it is one of several columns of a small row. */
const FAULT_TEXT = 400;

/** The change of a malformed row: FAILED with FORMAT_ERROR, until its writer corrects it. */
export function setAside(
  faults: readonly RowFault[],
  now: Date,
): { readonly set: Partial<NotificationRow>; readonly why: string } {
  const why = describeFaults(faults);
  const set = {
    send_status: 'FAILED',
    error_type: 'FORMAT_ERROR',
    failure_reason: 'FORMAT_ERROR',
    error_message: clip(why, FAULT_TEXT),
    updated_at: now.toISOString(),
    updated_by: UPDATED_BY,
  } as const;
  return { set, why };
}

/** One sentence for error_message. */
export function describeFaults(faults: readonly RowFault[]): string {
  return faults.map(({ column, rule, expected }) => `${column} breaks ${rule}: expected ${expected}`).join('; ');
}
