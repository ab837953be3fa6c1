import type { NotificationRow } from '../notification.ts';
import { epochMs } from '../time.ts';
import { parseWorkQueue } from '../work-index.ts';
import { keptFaults, workFaults } from './work-rules.ts';

/** The state of a notification as an operator sees it; send_status alone does not show it (docs/runbook.md). */
export type RowState =
  | 'delivered'
  /** An attempt is under way. */
  | 'claimed'
  /** The worker of an attempt died; the next message or sweep takes over. */
  | 'abandoned'
  /** Its time has come; the next sweep, or a message that is queued, leads to the attempt. */
  | 'due'
  /** Its time is to come. */
  | 'waiting'
  /** Given up, with a dead letter. */
  | 'dead'
  /** Given up, without one: wrong recipient, cancelled, or its dead letter was dropped. */
  | 'stopped'
  /** Its row is malformed; the writer has to correct it, also where the indexer or a sweep has not judged it yet. */
  | 'set_aside'
  /** Not in the work index yet, or left to its writer. */
  | 'not_taken_in';

export function stateOf(row: NotificationRow, now: Date): RowState {
  if (row.send_status === 'SUCCESS') return 'delivered';
  const work = typeof row.work_queue === 'string' ? parseWorkQueue(row.work_queue) : undefined;
  if (work === undefined || row.work_at === undefined) return withoutWork(row);
  if (workFaults({ ...row }).length > 0) return 'set_aside';
  if (row.send_status === 'SENDING') {
    return epochMs(row.claim_until ?? '') > now.getTime() ? 'claimed' : 'abandoned';
  }
  if (work.state === 'dead') return 'dead';
  return epochMs(row.work_at) <= now.getTime() ? 'due' : 'waiting';
}

/** A row that was in the pipeline before has a priority, a channel, and the time when it was last due. */
function withoutWork(row: NotificationRow): RowState {
  if (row.failure_reason === undefined) return 'not_taken_in';
  return keptFaults({ ...row }).length > 0 ? 'set_aside' : 'stopped';
}
