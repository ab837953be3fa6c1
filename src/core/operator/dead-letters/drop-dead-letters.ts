import type { RowStore } from '../../delivery/ports.ts';
import { stateOf } from '../../model/work/row-state.ts';
import { GIVEN_UP } from '../give-up.ts';
import type { DeadLetter } from './dead-letter.ts';

/**
 * Drops a dead letter: its notification leaves `dead#…` if it died with this letter. Call it before the message is
 * deleted. A command that dies in between leaves a message without effect, which can be dropped again. In the other
 * order it would leave a dead notification without a letter to redrive.
 */
export async function dropDeadLetter({ message, message_id }: DeadLetter, rows: RowStore, now: Date): Promise<void> {
  const row = message && (await rows.read(message.log_id));
  if (row === undefined || stateOf(row, now) !== 'dead' || row.dead_message_id !== message_id) return;
  // A row that changes at this moment is being attempted and no longer belongs to this letter.
  await rows.change(row, GIVEN_UP);
}
