import type { RowStore } from '../../delivery/ports.ts';
import type { RowChange } from '../../model/row-change.ts';
import { stateOf } from '../../model/row-state.ts';
import type { DeadLetter } from './dead-letter.ts';

/** The row stays, with its reason and its records; it just is nobody's work any more. */
const DROP: RowChange = { set: {}, remove: ['work_queue', 'dead_message_id', 'dead_run_id'] };

/**
 * Gives a dead letter up: its notification leaves `dead#…` if this is the letter it died with. To be called before the
 * message is deleted: a command that dies in between leaves a message that leads nowhere, and dropping it again is
 * harmless. In the other order it would leave a dead notification without a letter to redrive.
 */
export async function dropDeadLetter({ message, message_id }: DeadLetter, rows: RowStore, now: Date): Promise<void> {
  const row = message && (await rows.read(message.log_id));
  if (row === undefined || stateOf(row, now) !== 'dead' || row.dead_message_id !== message_id) return;
  // A row that changes at this moment is being attempted, and no longer this letter's.
  await rows.change(row, DROP);
}
