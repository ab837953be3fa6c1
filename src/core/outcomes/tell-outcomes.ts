import type { Outcome } from './outcome.ts';

/** A bus. Takes up to MAX_ENTRIES at once, and refuses some of them or all. */
export interface OutcomeBus {
  /** @returns for each outcome whether the bus has it; rejects when it may have none */
  put(outcomes: readonly Outcome[]): Promise<readonly boolean[]>;
}

/** EventBridge takes at most this many in a request. */
export const MAX_ENTRIES = 10;

export interface ToTell {
  /** Place of the change in its stream. */
  readonly sequence: string;
  /** Outcomes of the same subject stay in order. */
  readonly subject: string;
  readonly outcomes: readonly Outcome[];
}

export interface TellDeps {
  readonly bus: OutcomeBus;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Told {
  readonly told: number;
  /** Where the stream has to be read again from; absent: everything is told. */
  readonly failed?: string;
  readonly error?: unknown;
}

/** Tries of a request whose entries were refused; the stream then tries again for a day. */
const TRIES = 3;
const FIRST_PAUSE_MS = 100;

interface Entry extends Pick<ToTell, 'sequence' | 'subject'> {
  readonly outcome: Outcome;
}

/**
 * Puts outcomes on the bus in the order of the stream. What the bus refuses is tried again before anything later goes
 * out, and a request holds one outcome per subject: so a refusal never turns the order of a subject's outcomes around.
 */
export async function tellOutcomes(changes: readonly ToTell[], { bus, pause }: TellDeps): Promise<Told> {
  const waiting = changes.flatMap(({ outcomes, ...change }) => outcomes.map((outcome) => ({ ...change, outcome })));
  let told = 0;
  while (waiting.length > 0) {
    let entries = nextRequest(waiting);
    let error: unknown;
    for (let tries = 0; tries < TRIES && entries.length > 0; tries++) {
      if (tries > 0) await pause(FIRST_PAUSE_MS * 4 ** (tries - 1));
      error = undefined;
      const taken = await bus.put(entries.map(({ outcome }) => outcome)).catch((reason: unknown) => {
        error = reason;
        return [];
      });
      const left = entries.filter((_, i) => taken[i] !== true);
      told += entries.length - left.length;
      entries = left;
    }
    const [first] = entries;
    if (first !== undefined) return { told, failed: first.sequence, ...(error !== undefined && { error }) };
  }
  return { told };
}

function nextRequest(waiting: Entry[]): Entry[] {
  const subjects = new Set<string>();
  const isNext = (entry: Entry | undefined) =>
    entry !== undefined && subjects.size < MAX_ENTRIES && !subjects.has(entry.subject);
  const entries: Entry[] = [];
  while (isNext(waiting[0])) {
    const entry = waiting.shift();
    if (entry === undefined) break;
    subjects.add(entry.subject);
    entries.push(entry);
  }
  return entries;
}
