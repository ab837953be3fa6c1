import { LEASE, Lease } from '../model/changes.ts';
import type { Clock } from '../model/time.ts';
import {
  CLAIM_MS,
  isWorkedOn,
  type KeptChange,
  type KeptVerification,
  progressOf,
  type VerificationStore,
} from './kept-verification.ts';
import type { Verification, VerifyDeps } from './verification.ts';
import { settleSuspects, verify } from './verify.ts';

const KEPT_NAMED = 250;
const KEPT_CHARACTERS = 60_000;
const KEPT_EVERY_MS = 5_000;

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
