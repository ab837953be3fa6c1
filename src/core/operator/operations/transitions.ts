import { epochMs } from '../../model/time.ts';
import type { Checkpoint, Counts, Operation, OperationChange } from './operation.ts';

export function isActive({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'previewing' || status === 'running';
}

/** Nothing goes on with it. */
export function isOver({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'done' || status === 'cancelled';
}

/** Whether a process works on it, as far as is known. */
export function isClaimed({ claim_until }: Operation, now: Date): boolean {
  return claim_until !== undefined && epochMs(claim_until) > now.getTime();
}

/** The preview is made. Of what an operator may have asked for meanwhile, only a cancel is possible. */
export function previewed(
  { wanted, progress }: Operation,
  found: Pick<Operation, 'preview' | 'sample' | 'checkpoint'>,
  now: Date,
): OperationChange {
  const change = wanted === 'cancel' ? cancelled(progress, now) : { set: { status: 'ready' } as const, remove: CLAIM };
  return { ...change, set: { ...change.set, ...found } };
}

const CLAIM = ['claim_id', 'claim_until'] as const;

/** What an operator asked for, now that no page is in work. */
export function applyRequestedStop({ wanted, progress }: Operation, now: Date): OperationChange {
  const remove = ['wanted', 'claim_id', 'claim_until', 'rate_now'] as const;
  return wanted === 'cancel' ? cancelled(progress, now) : { set: { status: 'paused' }, remove };
}

/** Nobody works on it: an operator can resume it. */
export function failed(error: string): OperationChange {
  return { set: { status: 'failed', error }, remove: ['wanted', 'claim_id', 'claim_until', 'rate_now'] };
}

export function cancelled(progress: Counts, now: Date, error?: string): OperationChange {
  return {
    set: { status: 'cancelled', progress, ended_at: now.toISOString(), ...(error !== undefined && { error }) },
    remove: ['page', 'wanted', 'claim_id', 'claim_until', 'rate_now'],
  };
}

/** The page is counted; reading goes on at the next one, or the operation is done. */
export function counted(
  next: Checkpoint | undefined,
  { progress, rate_now }: { readonly progress: Counts; readonly rate_now?: number },
  now: Date,
): OperationChange {
  if (next === undefined) return ended(progress, now);
  return { set: { progress, checkpoint: next, ...(rate_now !== undefined && { rate_now }) }, remove: ['page'] };
}

function ended(progress: Counts, now: Date): OperationChange {
  return {
    set: { progress, status: 'done', ended_at: now.toISOString() },
    remove: ['page', 'claim_id', 'claim_until', 'rate_now', 'wanted'],
  };
}
