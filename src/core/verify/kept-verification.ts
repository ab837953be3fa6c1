import { changeUntil } from '../model/changes/change-until.ts';
import { isLeased, LEASE, Lease } from '../model/changes/lease.ts';
import { Problem } from '../model/problem.ts';
import type { Clock } from '../model/time.ts';
import { type Asked, newVerification, type Verification, type VerifyDeps } from './verification.ts';
import { settleSuspects, verify } from './verify.ts';

/** How far it is, for whoever looks. */
type Progress = Pick<Verification, 'phase' | 'scanned' | 'violated' | 'read_units'> & { readonly suspects: number };

/** The stage's latest verification: one item, changed by its version. Those of `ops verify` are files of their own. */
export interface KeptVerification {
  readonly version: number;
  readonly status: 'running' | 'done' | 'stopped' | 'failed';
  readonly started_by: string;
  readonly started_at: string;
  readonly ended_at?: string;
  /** Alarms know how it ended. */
  readonly told?: boolean;
  readonly progress: Progress;
  /** A Verification that suspects nothing: what is suspected is looked at again before a process hands over. */
  readonly state: string;
  /** The process that works on it, and until when it does so without a sign of life. */
  readonly claim_id?: string;
  readonly claim_until?: string;
  readonly error?: string;
}

interface KeptChange {
  readonly set: Partial<Omit<KeptVerification, 'version'>>;
  readonly remove?: readonly (keyof KeptVerification)[];
}

export interface VerificationStore {
  read(): Promise<KeptVerification | undefined>;
  /** Undefined when somebody else changed it. @param was undefined: there is none */
  change(was: KeptVerification | undefined, change: KeptChange): Promise<KeptVerification | undefined>;
}

/** An item of 400 KB holds the sample and the violations that are named, of three bytes a character. */
const KEPT_SAMPLE = 500;
const KEPT_NAMED = 250;
const KEPT_CHARACTERS = 60_000;

/** A process that gives no sign of life within this time has crashed. */
const CLAIM_MS = 120_000;
const KEPT_EVERY_MS = 5_000;

/** Whether a process works on it, as far as is known. */
export function isWorkedOn(kept: KeptVerification, now: Date): boolean {
  return kept.status === 'running' && isLeased(kept, now);
}

interface StartDeps extends Pick<VerifyDeps, 'clock'> {
  readonly store: VerificationStore;
  /** Makes a process work on it. */
  readonly startRun: () => Promise<void>;
}

/** Begins, or goes on after a crash. @throws Problem when one is running */
export async function startVerification(started_by: string, { store, clock, startRun }: StartDeps): Promise<void> {
  const now = clock();
  const found = await store.read();
  if (found !== undefined && isWorkedOn(found, now)) throw runs();
  const claim_until = new Date(now.getTime() + CLAIM_MS / 2).toISOString();
  const asked: Asked = { sample: KEPT_SAMPLE, letters: false };
  const begun = found?.status === 'running' ? {} : { started_by, started_at: now.toISOString(), ...at(asked, now) };
  const remove = ['ended_at', 'error', 'claim_id', 'told'] as const;
  if ((await store.change(found, { set: { status: 'running', ...begun, claim_until }, remove })) === undefined)
    throw runs();
  await startRun();
}

const runs = () => new Problem('conflict', 'A verification is running: wait for its end, or stop it.');

function at(asked: Asked, now: Date): Pick<KeptVerification, 'progress' | 'state'> {
  const state = newVerification(asked, now);
  return { progress: progressOf(state), state: JSON.stringify(state) };
}

function progressOf({ phase, scanned, violated, read_units, suspects }: Verification): Progress {
  return { phase, scanned, violated, read_units: Math.round(read_units), suspects: suspects.length };
}

/** Ends it where it is. @throws Problem when none is running */
export async function stopVerification({ store, clock }: Pick<StartDeps, 'store' | 'clock'>): Promise<void> {
  const stopped = ({ status }: KeptVerification): KeptChange | undefined =>
    status === 'running' ? { set: { status: 'stopped', ended_at: clock().toISOString() }, remove: LEASE } : undefined;
  const { changed } = await changeUntil(store.read, stopped, store.change);
  if (changed === undefined) throw new Problem('conflict', 'No verification is running.');
}

export interface KeptRunDeps extends Pick<VerifyDeps, 'clock' | 'pause'> {
  readonly store: VerificationStore;
  /** Of this process: whoever is started again with it takes its own claim over. */
  readonly claim_id: string;
  /** Reads no more: what is suspected is still looked at. */
  readonly isEnding: () => boolean;
  /** No time is left. */
  readonly isOver: () => boolean;
  readonly ports: Omit<VerifyDeps, 'clock' | 'pause' | 'onProgress' | 'isStopping'>;
}

/** `ended`: nothing is left to do. `interrupted`: the next process goes on. `busy`: another one is at it. */
export type KeptRun = { readonly result: 'ended' | 'interrupted' | 'busy' };

/**
 * Works on the stage's verification until its end, until somebody stops it, or until no time is left. What it has kept
 * suspects nothing, so a process that dies repeats at most what it read since it last suspected nothing.
 */
export async function runKept(deps: KeptRunDeps): Promise<KeptRun> {
  const { store, clock, claim_id } = deps;
  const found = await store.read();
  if (found?.status !== 'running') return { result: 'ended' };
  if (isWorkedOn(found, clock()) && found.claim_id !== undefined && found.claim_id !== claim_id)
    return { result: 'busy' };
  const keeper = new Keeper(found, deps);
  if (!(await keeper.keep({ set: { claim_id } }))) return { result: 'busy' };
  const state: Verification = JSON.parse(found.state);
  try {
    await work(state, keeper, deps);
  } catch (error) {
    const why = `It stopped (${error instanceof Error ? error.name : 'an unknown error'}): start goes on with it.`;
    await keeper.keep({ set: { error: why }, remove: LEASE }).catch(() => {});
    throw error;
  }
  if (keeper.lost) return { result: 'ended' };
  const kept: Partial<KeptVerification> = state.suspects.length === 0 ? keptOf(state) : {};
  if (state.phase !== 'done') {
    // Without a step forward the next process would do the same again, and every one after it.
    if ((kept.state ?? keeper.reached) === found.state) return fail(keeper, deps);
    await keeper.keep({ set: kept, remove: LEASE });
    return { result: 'interrupted' };
  }
  const ended = { ...kept, status: 'done', ended_at: clock().toISOString() } as const;
  return (await keeper.keep({ set: ended, remove: LEASE })) ? { result: 'ended' } : { result: 'busy' };
}

async function fail(keeper: Keeper, { clock }: KeptRunDeps): Promise<KeptRun> {
  const error = 'It did not get on within the time of a process. `ops verify` has no such limit.';
  await keeper.keep({ set: { status: 'failed', error, ended_at: clock().toISOString() }, remove: LEASE });
  return { result: 'ended' };
}

async function work(state: Verification, keeper: Keeper, deps: KeptRunDeps): Promise<void> {
  const onProgress = () => keeper.now_and_then(state);
  const pause = async (ms: number) => {
    await onProgress();
    await deps.pause(ms);
  };
  const verifying = { ...deps.ports, clock: deps.clock, pause, onProgress };
  await verify(state, { ...verifying, isStopping: () => keeper.lost || deps.isEnding() });
  if (state.phase !== 'done')
    await settleSuspects(state, { ...verifying, isStopping: () => keeper.lost || deps.isOver() });
}

function keptOf(state: Verification): Pick<KeptVerification, 'progress' | 'state'> {
  let characters = 0;
  const fits = (violation: object) => {
    characters += JSON.stringify(violation).length;
    return characters <= KEPT_CHARACTERS;
  };
  const named = { ...state, violations: state.violations.slice(0, KEPT_NAMED).filter(fits) };
  return { progress: progressOf(state), state: JSON.stringify(named) };
}

/** Keeps how far it is, and sees that somebody stopped it or took it over. */
class Keeper {
  lost = false;
  #kept_at = 0;
  #writing = false;
  readonly #lease: Lease<KeptVerification, KeptChange>;
  readonly #clock: Clock;

  constructor(was: KeptVerification, { store, clock }: KeptRunDeps) {
    const { read, change } = store;
    this.#lease = new Lease(was, { read, change, clock, lease_ms: CLAIM_MS });
    this.#clock = clock;
  }

  get reached(): string {
    return this.#lease.row.state;
  }

  /** @returns whether it is still this process's */
  async keep(change: KeptChange): Promise<boolean> {
    const kept = await this.#lease.tryChange(change);
    // Also one with the same token may have changed it: an event that came twice.
    this.lost ||= !kept;
    return kept;
  }

  async now_and_then(state: Verification): Promise<void> {
    const now = this.#clock().getTime();
    if (this.#writing || now - this.#kept_at < KEPT_EVERY_MS) return;
    [this.#kept_at, this.#writing] = [now, true];
    try {
      await this.keep({ set: state.suspects.length === 0 ? keptOf(state) : { progress: progressOf(state) } });
    } finally {
      this.#writing = false;
    }
  }
}
