import type { Acceptance, Memory, Stored } from './memory.ts';

/**
 * What must hold of a notification that its writer puts anew or corrects, and of its successors. Shares no code with the
 * pipeline.
 */

/**
 * Its writer puts another recipient into a row: the attempts that are claimed from now on go there. What is over stays so,
 * unless the whole row is put anew.
 */
/** @param how.recipient whether it gets another one @param how.fallback whether its fallback does, too */
export function corrected(
  memory: Memory,
  was: Stored,
  { anew = false, recipient = true, fallback = false } = {},
): Memory {
  const log_id = String(was['log_id']);
  const { [log_id]: deletion, ...deletions } = memory.deleted;
  const isOver =
    was['send_status'] === 'SUCCESS' || was['is_deleted'] === true || typeof was['work_queue'] !== 'string';
  const lives = { ...memory.lives, [log_id]: (memory.lives[log_id] ?? 0) + 1 };
  // In between, a worker may have claimed and settled what its writer has put anew.
  const since = Math.max(Number(was['last_attempt'] ?? -1), memory.numbered[log_id] ?? -1);
  return {
    ...memory,
    ...(anew && { deleted: deletions, erased: memory.erased.filter((one) => one !== log_id) }),
    ...((anew || !isOver) && { lives }),
    corrected: { ...memory.corrected, [log_id]: since },
    ...(recipient && { readdressed: { ...memory.readdressed, [log_id]: since } }),
    ...(fallback && { elsewhere: [...memory.elsewhere, log_id] }),
    renamed: [...memory.renamed.filter((one) => one !== log_id), ...(hasEnded(was) ? [] : [log_id])],
  };
}

const isStopped = ({ is_deleted, erased_at, failure_reason }: Stored): boolean =>
  is_deleted === true || erased_at !== undefined || failure_reason === 'CANCELLED';

/** A successor is made, of a life of its predecessor. */
export function made(memory: Memory, { log_id, predecessor_log_id }: Stored): Memory {
  if (predecessor_log_id === undefined) return memory;
  return { ...memory, lives: { ...memory.lives, [String(log_id)]: memory.lives[String(predecessor_log_id)] ?? 0 } };
}

/** Whether a successor still continues its predecessor, as that is. */
function isWanted({ lives }: Memory, log_id: string, predecessor: Stored): boolean {
  return !isStopped(predecessor) && (lives[log_id] ?? 0) === (lives[String(predecessor['log_id'])] ?? 0);
}

/** What a row breaks that goes on as a successor, or is claimed. */
export function broken(memory: Memory, was: Stored, row: Stored): string[] {
  const { log_id, successor_log_id, last_attempt } = row;
  const claims = row['send_status'] === 'SENDING' && row['claim_id'] !== was['claim_id'];
  if (claims && Number(last_attempt) <= (memory.numbered[String(log_id)] ?? -1))
    return ['15: the number of an attempt is used again'];
  if (typeof successor_log_id !== 'string' || successor_log_id === was['successor_log_id']) return [];
  const violations = isStopped(was) ? ['16: it goes on although it was stopped'] : [];
  const isIts = (memory.lives[successor_log_id] ?? 0) === (memory.lives[String(log_id)] ?? 0);
  return isIts ? violations : [...violations, '15: it goes on as the successor of a former life'];
}

export function deleted(memory: Memory, { log_id, last_attempt }: Stored): Memory {
  return { ...memory, deleted: { ...memory.deleted, [String(log_id)]: Number(last_attempt ?? -1) } };
}

/** An attempt is claimed. @param predecessor as it is */
export function claimed(memory: Memory, { log_id, last_attempt }: Stored, predecessor: Stored | undefined): Memory {
  const id = String(log_id);
  const unwanted = predecessor === undefined || isWanted(memory, id, predecessor) ? [] : [`${id}#${last_attempt}`];
  const numbered = { ...memory.numbered, [id]: Number(last_attempt) };
  return { ...memory, numbered, unwanted: [...memory.unwanted, ...unwanted] };
}

const hasEnded = (row: Stored): boolean => isStopped(row) || row['failure_reason'] !== undefined;

/** It is over for a wrong recipient, though nobody has tried the one that its writer had named before. */
export function neverTried({ renamed, numbered, corrected: since }: Memory, row: Stored): string[] {
  const log_id = String(row['log_id']);
  const [then, life] = [since[log_id] ?? -1, Number(row['life'] ?? -1)];
  // Its producer may have made an attempt of the later life itself, and have reported it.
  const isTried = (numbered[log_id] ?? -1) > then || (life > then && Number(row['last_attempt']) >= life);
  const isOver = row['failure_reason'] === 'INVALID_RECIPIENT' && row['is_deleted'] !== true;
  return isOver && renamed.includes(log_id) && !isTried
    ? ['15: given up for a recipient that was replaced before']
    : [];
}

/** What was accepted since its writer has corrected it last: another recipient got what was before. */
export function ofThisLife({ accepted: all, corrected: since }: Memory, log_id: string): readonly Acceptance[] {
  return (all[log_id] ?? []).filter(({ attempt }) => attempt > (since[log_id] ?? Number.NEGATIVE_INFINITY));
}
