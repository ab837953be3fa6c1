import { type Fault, fault, type Stored, textOf } from './row-rules.ts';

/** Batches are recounted from their chunks. Shares no code with the job, as row-rules.ts says. */

/** Recipients by what became of them. A claimed one is pending until its call is recorded. */
export const SUMMANDS = ['submitted', 'pending', 'excluded', 'failed', 'uncertain'] as const;
export type Sums = Readonly<Record<(typeof SUMMANDS)[number], number>>;

export const NO_SUMS: Sums = { submitted: 0, pending: 0, excluded: 0, failed: 0, uncertain: 0 };

const OF_CODE: Readonly<Record<string, keyof Sums>> = {
  s: 'submitted',
  '.': 'pending',
  '>': 'pending',
  x: 'excluded',
  f: 'failed',
  u: 'uncertain',
};

/** @param states one character per recipient; undefined: one of them is none that a chunk may hold */
export function sumsOf(states: string): Sums | undefined {
  const sums: Record<keyof Sums, number> = { ...NO_SUMS };
  for (const code of states) {
    const name = OF_CODE[code];
    if (name === undefined) return undefined;
    sums[name] += 1;
  }
  return sums;
}

export function plus(a: Sums, b: Sums): Sums {
  return Object.fromEntries(SUMMANDS.map((name) => [name, a[name] + b[name]])) as unknown as Sums;
}

const totalOf = (sums: Sums): number => SUMMANDS.reduce((total, name) => total + sums[name], 0);

/** A batch as its row says, and as its chunks add up. */
export interface Recounted {
  readonly batch: Stored;
  /** By the number of the chunk; undefined: a chunk whose states nobody can read. */
  readonly chunks: ReadonlyMap<number, Sums | undefined>;
}

export function batchFaults({ batch, chunks }: Recounted): Fault[] {
  const { status, chunks: expected } = batch;
  const missing = Array.from({ length: Number(expected) }, (_, i) => i).filter((i) => chunks.get(i) === undefined);
  if (missing.length > 0) return [fault('N1', `chunk ${missing[0]} is missing, or says what no chunk may`)];
  const found = recountOf({ batch, chunks });
  const stored = { ...NO_SUMS, ...(batch['counts'] as Sums) };
  if (totalOf(stored) !== totalOf(found))
    return [fault('N2', `${totalOf(stored)} recipients, and its chunks ${totalOf(found)}`)];
  // Its sender tells the row now and then only.
  if (status === 'submitting') return [];
  return SUMMANDS.filter((name) => stored[name] !== found[name]).map((name) =>
    fault('N2', `the row counts ${stored[name]} ${name}, and the chunks ${found[name]}`),
  );
}

/** A repeated preparation may have left chunks behind the last. */
export function recountOf({ batch, chunks }: Recounted): Sums {
  const counted = [...chunks].flatMap(([i, sums]) => (i < Number(batch['chunks']) && sums ? [sums] : []));
  return counted.reduce(plus, NO_SUMS);
}

/** @param batches with the one of the excluded recipients @param found what they add up to */
export function emailFaults(email: Stored, batches: readonly Stored[], found: Sums): Fault[] {
  const { status, paused, active, prepared } = email;
  const faults: Fault[] = [];
  const isOpen = status === 'pending' || status === 'submitting';
  if (isOpen && paused !== true && textOf(active) === '')
    faults.push(fault('N3', `${status}, and nothing comes back to it`));
  if (prepared === undefined) return faults;
  const { recipients, batches: expected } = prepared as { readonly recipients: number; readonly batches: number };
  const sent = batches.filter(({ batch_id }) => batch_id !== 'excluded').length;
  if (sent !== expected) faults.push(fault('N4', `${sent} batches of ${expected}`));
  if (totalOf(found) !== recipients)
    faults.push(fault('N4', `the states add up to ${totalOf(found)} of ${recipients}`));
  return faults;
}
