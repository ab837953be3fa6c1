import { shownPhaseOf } from '../../../src/core/breaker/breaker.ts';
import * as ends from '../audit/end-promises.ts';
import type { Stored } from '../audit/memory.ts';
import type { Ground } from './ground.ts';

const DAY_MS = 86_400_000;

/** From now on nothing fails. */
export function calm(ground: Ground): void {
  const { now, counts } = ground.state;
  const waiting = { log_ids: ends.inTime(ground.rows(), now), counts };
  ground.set({ faults: 0, broken: [], down: false, waiting });
}

/** Nothing is left to do. */
export function checkEnd(ground: Ground): void {
  const { tables, state } = ground;
  const letters = state.letters.map(({ message }) => message.log_id);
  const records = [...tables.retryLog.values()] as unknown as Stored[];
  const contents = [...tables.content] as unknown as [string, Stored][];
  ground.violated(...ends.ended(state.memory, { rows: ground.rows(), records, letters, contents }));
  const { counts = {}, log_ids = [] } = state.waiting ?? {};
  const isSent = (log_id: string) => state.counts[`sends of ${log_id}`] !== counts[`sends of ${log_id}`];
  ground.violated(...ends.expired(log_ids, ground.rows(), isSent));
  const later = new Date(state.now + DAY_MS);
  if ([...ground.breakers.values()].some((breaker) => shownPhaseOf(breaker, later) === 'open'))
    ground.violated('13: a provider counts as down a day after the last came to it');
  if (state.dead) ground.violated(...ends.answeredRedrive(state.dead, ground.rows()));
}
