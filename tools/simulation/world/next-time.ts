import type { Stored } from '../audit/memory.ts';
import * as promises from '../audit/promises.ts';
import { pauseEnd } from './endings.ts';
import type { Ground } from './ground.ts';
import { deadlineOf, isIdle } from './state.ts';

/** When Lambda ends the first of the invocations that are under way. */
export function firstDeadline({ state }: Ground): number {
  const working = state.actors.filter((actor) => !isIdle(actor));
  return Math.min(...working.map(deadlineOf));
}

/** @param sweep_at of a scheduled sweep, which finds what is due */
export function nextTime(ground: Ground, sweep_at?: number): number | undefined {
  const { now, left, queue, events, hung, actors } = ground.state;
  const sweeps = (left['sweeps'] ?? 0) > 0;
  const due = ground.rows().filter(({ work_queue }) => promises.textOf(work_queue).startsWith('due'));
  const ofRow = (row: Stored) =>
    sweeps
      ? [Date.parse(promises.textOf(row['work_at'])), Date.parse(promises.textOf(row['claim_until']))]
      : sweep_at
        ? [sweep_at]
        : [];
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
