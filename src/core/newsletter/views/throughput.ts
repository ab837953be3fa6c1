import type { Batch, ProgressSample } from '../model/batch.ts';

/** Seconds between two samples; the newest one moves until it has this distance from the one before it. */
const STEP_S = 10;
/** Enough for the last minute. */
const MOST = 8;
const WINDOW_S = 60;
/** Fewer seconds of sending say nothing about the rate. */
const LEAST_S = 5;

/** The samples of a batch after one more; a pause of more than a minute begins anew. */
export function withSample(
  samples: readonly ProgressSample[] = [],
  now: Date,
  done: number,
): readonly ProgressSample[] {
  const at = Math.floor(now.getTime() / 1000);
  const last = samples.at(-1);
  const before = samples.at(-2);
  if (last === undefined || at - last.at > WINDOW_S) return [{ at, done }];
  const kept = before !== undefined && last.at - before.at < STEP_S ? samples.slice(0, -1) : samples;
  return [...kept, { at, done }].slice(-MOST);
}

/** Recipients per second in the last minute, over all batches; undefined while too little is known. */
export function throughputOf(batches: readonly Pick<Batch, 'progress'>[], now: Date): number | undefined {
  const at = now.getTime() / 1000;
  const since = at - WINDOW_S;
  let done = 0;
  let from = Number.POSITIVE_INFINITY;
  for (const { progress = [] } of batches) {
    const first = progress[0];
    const last = progress.at(-1);
    if (first === undefined || last === undefined || last.at < since) continue;
    done += Math.max(0, last.done - doneAt(progress, since));
    from = Math.min(from, Math.max(first.at, since));
  }
  const seconds = at - from;
  return seconds < LEAST_S || !Number.isFinite(seconds) ? undefined : done / seconds;
}

/** Between two samples, recipients are spread evenly. */
function doneAt(samples: readonly ProgressSample[], at: number): number {
  const after = samples.findIndex((sample) => sample.at >= at);
  const next = samples[after];
  const before = samples[after - 1];
  if (next === undefined) return samples.at(-1)?.done ?? 0;
  if (before === undefined) return next.done;
  return before.done + ((next.done - before.done) * (at - before.at)) / (next.at - before.at);
}
