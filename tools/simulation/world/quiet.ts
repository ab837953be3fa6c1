import { shownPhaseOf } from '../../../src/core/breaker/breaker.ts';
import * as ends from '../audit/end-promises.ts';
import type { Stored } from '../audit/memory.ts';
import { textOf } from '../audit/promises.ts';
import { pauseEnd } from './endings.ts';
import type { Ground } from './ground.ts';
import { deadlineOf, isIdle } from './state.ts';

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
  const letters = [...state.letters.map(({ message }) => message.log_id), ...(state.alone ?? [])];
  const records = [...tables.retryLog.values()] as unknown as Stored[];
  const contents = [...tables.content] as unknown as [string, Stored][];
  ground.violated(
    ...ends.ended(state.memory, {
      rows: ground.rows(),
      records,
      letters,
      contents,
      unrecorded: state.lostTable === 'records' ? state.alone : [],
    }),
  );
  const { counts = {}, log_ids = [] } = state.waiting ?? {};
  const isSent = (log_id: string) => state.counts[`sends of ${log_id}`] !== counts[`sends of ${log_id}`];
  ground.violated(...ends.expired(log_ids, ground.rows(), isSent));
  const later = new Date(state.now + DAY_MS);
  if ([...ground.breakers.values()].some((breaker) => shownPhaseOf(breaker, later) === 'open'))
    ground.violated('13: a provider counts as down a day after the last came to it');
  if (state.dead) ground.violated(...ends.answeredRedrive(state.dead, ground.rows()));
}

/** When Lambda ends the first of the invocations that are under way. */
export function firstDeadline({ state }: Ground): number {
  const working = state.actors.filter((actor) => !isIdle(actor));
  return Math.min(...working.map(deadlineOf));
}

/** @param sweep_at of a scheduled sweep, which finds what is due */
export function nextTime(ground: Ground, sweep_at?: number): number | undefined {
  const { now, left, queue, events, hung, actors } = ground.state;
  const sweeps = (left['sweeps'] ?? 0) > 0;
  const due = ground.rows().filter(({ work_queue }) => textOf(work_queue).startsWith('due'));
  const ofRow = (row: Stored) =>
    sweeps ? [Date.parse(textOf(row['work_at'])), Date.parse(textOf(row['claim_until']))] : sweep_at ? [sweep_at] : [];
  const paused = actors.flatMap((actor) =>
    actor.moment.calls.map((call) => pauseEnd(call, ground.answered(actor)) ?? 0),
  );
  const times = [
    ...queue.map(({ visible_at }) => visible_at),
    ...events.map(({ at }) => at ?? 0),
    ...hung.map(({ until }) => until),
    ...(hung.length > 0 ? [firstDeadline(ground)] : []),
    ...paused,
    ...due.flatMap(ofRow),
  ];
  const later = times.filter((time) => time > now);
  return later.length > 0 ? Math.min(...later) : undefined;
}
