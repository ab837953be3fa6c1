import type { Memory, Stored } from './memory.ts';

/**
 * What must hold of a provider's allowance: whoever sends has a slot of the share that its priority may use, also what is
 * forced. Shares no code with the pipeline.
 */

/** What is reserved before the claims of a batch is reserved for a use; what is reserved for a receiver, for a lane. */
type Pacing = 'account' | 'receiver';

const SHARES: Readonly<Record<Pacing, Readonly<Record<string, string>>>> = {
  account: { urgent: 'express', important: 'express', normal: 'standard', info: 'info' },
  receiver: { urgent: 'express', important: 'express', normal: 'standard', info: 'standard' },
};

/** A worker is told of its slots. */
export function granted(memory: Memory, by: string, ask: unknown, allowance: unknown): Memory {
  const { use } = ask as { readonly use: string };
  const { length } = (allowance as { readonly slots: readonly number[] }).slots;
  if (length === 0) return memory;
  const own = memory.slots[by] ?? {};
  return { ...memory, slots: { ...memory.slots, [by]: { ...own, [use]: (own[use] ?? 0) + length } } };
}

/** A worker ends, or takes another batch: what it has not used is lost. */
export function forfeited(memory: Memory, by: string): Memory {
  if (memory.slots[by] === undefined) return memory;
  const { [by]: _, ...slots } = memory.slots;
  return { ...memory, slots };
}

/** The provider is asked to send. @param pacing absent: no slot is needed */
export function asked(
  known: Memory,
  { log_id, attempt, by }: { readonly log_id: string; readonly attempt: number; readonly by: string },
  row: Stored | undefined,
  pacing: Pacing | undefined,
): { readonly memory: Memory; readonly violations: readonly string[] } {
  const isDead = row?.['failure_reason'] !== undefined;
  const memory = isDead ? { ...known, tried: [...known.tried, `${log_id}#${attempt}`] } : known;
  const share = pacing && SHARES[pacing][String(row?.['priority'])];
  if (share === undefined) return { memory, violations: [] };
  const { [by]: own = {} } = memory.slots;
  const left = own[share] ?? 0;
  if (left === 0) return { memory, violations: [`19: sent without a slot of those for ${share}`] };
  const slots = { ...memory.slots, [by]: { ...own, [share]: left - 1 } };
  return { memory: { ...memory, slots }, violations: [] };
}

/** What was dead before an operator forced it dies again: somebody has been asked to deliver it, or it had waited. */
export function diedAgain(memory: Memory, row: Stored | undefined, record: Stored, by: string): string[] {
  const { original_log_id, retry_attempt, retry_status, failure_reason, error_type, response_message } = record;
  const wasForced = row?.['failure_reason'] !== undefined && row['send_status'] === 'SENDING';
  // One that is held is SKIPPED, and dead as before.
  const isTransient = retry_status === 'FAILED' && error_type === 'UNKNOWN' && failure_reason !== undefined;
  if (!wasForced || !isTransient || by.startsWith('event') || /died/.test(String(response_message))) return [];
  return memory.tried.includes(`${original_log_id}#${retry_attempt}`)
    ? []
    : ['19: a dead one that was forced dies again unsent'];
}
