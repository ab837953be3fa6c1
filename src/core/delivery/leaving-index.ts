import type { NotificationRow } from '../model/notification.ts';
import type { RowChange } from '../model/row-change.ts';
import { setAside } from '../model/work/set-aside.ts';
import { workFaults } from '../model/work/work-rules.ts';

/** A row that is in the work index and must not be: how it leaves, and why. */
export interface LeavingIndex {
  readonly change: RowChange;
  readonly why: string;
}

/**
 * Whoever may write to the table may have put the row into the work index. One that breaks a rule is set aside, and
 * stops no other; a delivered one only leaves the index, because SUCCESS is final.
 */
export function leavingIndex(row: NotificationRow, now: Date): LeavingIndex | undefined {
  if (row.work_queue === undefined) return undefined;
  if (row.send_status === 'SUCCESS')
    return { change: { set: {}, remove: ['work_queue'] }, why: 'it is delivered already' };
  const faults = workFaults({ ...row });
  if (faults.length === 0) return undefined;
  const { set, why } = setAside(faults, now);
  return { change: { set, remove: ['work_queue', 'work_at'] }, why };
}
