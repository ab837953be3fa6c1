import { backoff, type HandoverOutcome } from '../../handover/retry-rules.ts';
import { type EntryStore, isPassedBy, LONGEST_HOLD_MS, type QueueEntry } from './queue-entry.ts';

/** retry-and-idempotency-design.md §3 and §5. */
const ATTEMPTS = 3;
/** Milliseconds. After one has failed, or waits, for a cause that others share, the next one waits, so that not all fail. */
const PAUSE_MS = 30_000;
/** The API keeps keys for 72 hours. Later a repeat could be sent twice, so a person decides. */
const KEY_KEPT_MS = 71 * 3_600_000;

export type QueueEventType = 'queued' | 'sending' | 'accepted' | 'waiting' | 'failed' | 'removed';

/** What happens to an entry, in whichever tab. `waiting`: an attempt failed, and another one follows. */
export interface QueueEvent {
  readonly type: QueueEventType;
  readonly entry: QueueEntry;
}

export interface SendPorts {
  readonly store: EntryStore;
  readonly send: (entry: QueueEntry) => Promise<HandoverOutcome>;
  readonly isOnline: () => boolean;
  readonly emit: (event: QueueEvent) => void;
  readonly now: () => number;
  readonly random: () => number;
}

/**
 * Makes one attempt for the first waiting entry, so that entries are sent in order. Only one caller at a time may run
 * it, in all tabs together.
 * @param anew the network is back: what waits because there was no answer does not wait any longer
 * @returns milliseconds until the next call; undefined: nothing is to be done until something changes
 */
export async function sendNext(ports: SendPorts, anew = false): Promise<number | undefined> {
  const { store, send, isOnline, emit, now } = ports;
  const entry = await store.first(now());
  if (entry === undefined || !isOnline()) return undefined;
  const { not_before = 0, first_sent_at = now() } = entry;
  // However long somebody had it wait: after that time its key is forgotten.
  const wait = Math.min(not_before, first_sent_at + KEY_KEPT_MS) - now();
  if (wait > 0 && !(anew && entry.reason?.startsWith('no answer'))) {
    const { wait_ms = wait } = entry;
    if (wait <= wait_ms) return wait;
    // The clock was set back since.
    await store.replace({ ...entry, not_before: now() + wait_ms, wait_ms });
    return wait_ms;
  }
  if (now() - first_sent_at > KEY_KEPT_MS) {
    await settle(ports, 'failed', { ...entry, state: 'failed', reason: 'too-old' });
    return 0;
  }
  // Stored before it is sent, so that a tab that dies on the way leaves the time behind.
  const sent = { ...entry, first_sent_at };
  if (entry.first_sent_at === undefined && !(await store.replace(sent))) return 0;
  emit({ type: 'sending', entry: sent });
  const outcome = await send(sent);
  if (outcome.state === 'postponed' && outcome.status === 0 && !isOnline()) {
    // The network went away meanwhile, which is nobody's failure.
    await settle(ports, 'waiting', sent);
    return undefined;
  }
  return judge(ports, sent, outcome);
}

type SentEntry = QueueEntry & { readonly first_sent_at: number };

async function judge(ports: SendPorts, entry: SentEntry, outcome: HandoverOutcome): Promise<number> {
  const { now, random } = ports;
  const { notification: _, not_before: __, wait_ms: ___, reason: ____, problem: _____, ...rest } = entry;
  const attempts = entry.attempts + 1;
  if (outcome.state === 'accepted') {
    await settle(ports, 'accepted', { ...rest, state: 'accepted', log_id: outcome.log_id, accepted_at: now() });
    return 0;
  }
  const { not_before: _past, wait_ms: _meant, ...kept } = entry;
  if (outcome.state === 'refused') {
    const { problem } = outcome;
    await settle(ports, 'failed', { ...kept, state: 'failed', attempts, reason: nameOf(problem.type), problem });
    return 0;
  }
  const { reason, retryAfterMs = 0 } = outcome;
  if (attempts >= ATTEMPTS) {
    await settle(ports, 'failed', { ...kept, state: 'failed', attempts, reason });
    return pauseNext(ports, reason, retryAfterMs);
  }
  // It is tried once more while the API knows its key, whatever `Retry-After` says.
  const left = entry.first_sent_at + KEY_KEPT_MS - PAUSE_MS - now();
  const wait = Math.max(Math.min(retryAfterMs, left), backoff(attempts, random()));
  await settle(ports, 'waiting', { ...kept, attempts, reason, not_before: now() + wait, wait_ms: wait });
  return wait > LONGEST_HOLD_MS ? pauseNext(ports, reason, 0) : wait;
}

/** What the API did to one it would do to the next: that waits, but no longer than one may hold others. */
async function pauseNext({ store, now }: SendPorts, reason: string, retryAfterMs: number): Promise<number> {
  const pause = Math.min(Math.max(retryAfterMs, PAUSE_MS), LONGEST_HOLD_MS);
  const next = await store.first(now());
  if (next !== undefined && !isPassedBy(next, now())) {
    await store.replace({ ...next, reason, not_before: now() + pause, wait_ms: pause });
  }
  return pause;
}

/** An entry that was removed meanwhile stays removed. */
async function settle({ store, emit }: SendPorts, type: QueueEventType, entry: QueueEntry): Promise<void> {
  emit({ type: (await store.replace(entry)) ? type : 'removed', entry });
}

const nameOf = (type: string): string => type.slice(type.lastIndexOf(':') + 1);
