import { CHANGE_TRIES, type RowStore } from '../delivery/ports.ts';
import { GIVEN_UP } from '../delivery/transitions/without-attempt.ts';
import { stateOf } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';
import type { DeadLetter } from './dead-letters/dead-letter.ts';

export interface GiveUpResult {
  readonly log_id: string;
  /** `ended`: it is not dead any more, or was not. */
  readonly result: 'given_up' | 'ended' | 'refused' | 'not_found';
  readonly because?: string;
}

export interface GiveUpDeps {
  readonly rows: RowStore;
  readonly clock: Clock;
}

/** Takes dead notifications off the list for good. `retry`, or a redrive with the stopped ones, can still send them. */
export function giveUp(log_ids: readonly string[], deps: GiveUpDeps): Promise<GiveUpResult[]> {
  return Promise.all([...new Set(log_ids)].map((log_id) => giveUpOne(log_id, deps)));
}

async function giveUpOne(log_id: string, { rows, clock }: GiveUpDeps): Promise<GiveUpResult> {
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const row = await rows.read(log_id);
    if (row === undefined) return { log_id, result: 'not_found', because: 'there is no such notification' };
    const state = stateOf(row, clock());
    if (state !== 'dead') return { log_id, result: 'ended', because: `it is ${state.replaceAll('_', ' ')}, not dead` };
    if (await rows.change(row, GIVEN_UP)) return { log_id, result: 'given_up' };
  }
  return { log_id, result: 'refused', because: 'other processes kept changing it; look at it, then do it again' };
}

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
