import { changeUntil, isLeased, LEASE } from '../model/changes.ts';
import { Problem } from '../model/problem.ts';
import { type Asked, newVerification, type Verification, type VerifyDeps } from './verification.ts';

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

export interface KeptChange {
  readonly set: Partial<Omit<KeptVerification, 'version'>>;
  readonly remove?: readonly (keyof KeptVerification)[];
}

export interface VerificationStore {
  read(): Promise<KeptVerification | undefined>;
  /** Undefined when somebody else changed it. @param was undefined: there is none */
  change(was: KeptVerification | undefined, change: KeptChange): Promise<KeptVerification | undefined>;
}

/** An item of 400 KB holds the sample and, of three bytes a character, the violations that are named (run-kept.ts). */
const KEPT_SAMPLE = 500;

/** A process that gives no sign of life within this time has crashed. */
export const CLAIM_MS = 120_000;

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

export function progressOf({ phase, scanned, violated, read_units, suspects }: Verification): Progress {
  return { phase, scanned, violated, read_units: Math.round(read_units), suspects: suspects.length };
}

/** Ends it where it is. @throws Problem when none is running */
export async function stopVerification({ store, clock }: Pick<StartDeps, 'store' | 'clock'>): Promise<void> {
  const stopped = ({ status }: KeptVerification): KeptChange | undefined =>
    status === 'running' ? { set: { status: 'stopped', ended_at: clock().toISOString() }, remove: LEASE } : undefined;
  const { changed } = await changeUntil(store.read, stopped, store.change);
  if (changed === undefined) throw new Problem('conflict', 'No verification is running.');
}
