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

/** A claim that showed what its writer has spoilt gives its number back, because nothing was sent. */
export function givenBack(memory: Memory, was: Stored, { log_id, last_attempt, failure_reason }: Stored): Memory {
  const [id, number] = [String(log_id), Number(was['last_attempt'])];
  const isBack = was['send_status'] === 'SENDING' && failure_reason === 'FORMAT_ERROR' && last_attempt === number - 1;
  if (!isBack || memory.accepted[id]?.some(({ attempt }) => attempt >= number)) return memory;
  return { ...memory, numbered: { ...memory.numbered, [id]: (memory.numbered[id] ?? number) - 1 } };
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

/** What must hold after a restoration, by the rows as they were when they were lost. Shares no code with the pipeline. */

/**
 * The log is lost. A claim that left no record is forgotten with it, so that its number may be used again.
 * @param known the greatest number of an attempt that the copy, or a record, knows
 */
export function forgotten(
  memory: Memory,
  rows: readonly Stored[],
  known: (log_id: string) => number,
  isAlone: (row: Stored) => boolean,
): Memory {
  const lost = rows.map(({ log_id }) => String(log_id));
  const owing = rows.filter(isAlone).map(({ log_id }) => String(log_id));
  const isKept = (claim: string) => {
    const [log_id = '', attempt] = claim.split('#');
    return !lost.includes(log_id) || Number(attempt) <= known(log_id);
  };
  const numbered = Object.entries(memory.numbered).map(([log_id, attempt]) => [
    log_id,
    lost.includes(log_id) ? Math.min(attempt, known(log_id)) : attempt,
  ]);
  return {
    ...unproven(memory, owing),
    numbered: Object.fromEntries(numbered),
    knownArrived: memory.knownArrived.filter(isKept),
    unwanted: memory.unwanted.filter(isKept),
    tried: memory.tried.filter(isKept),
  };
}

/** What showed that these were accepted is lost: they may be sent again. */
export function unproven(memory: Memory, log_ids: readonly string[]): Memory {
  const accepted = Object.entries(memory.accepted).map(([log_id, all]) => [
    log_id,
    log_ids.includes(log_id) ? all.map((one) => ({ ...one, how: 'excused' as const })) : all,
  ]);
  const isProven = (claim: string) => !log_ids.includes(claim.split('#')[0] ?? '');
  return { ...memory, accepted: Object.fromEntries(accepted), knownArrived: memory.knownArrived.filter(isProven) };
}

/** RetryLog had not taken what the row says: it is lost with the row. @param records of the row */
export function saysItAlone(row: Stored, records: readonly Stored[]): boolean {
  const shown = Object.entries((row['delivery_by_attempt'] ?? {}) as Stored);
  const isRecorded = ([attempt, evidence]: readonly [string, unknown]) =>
    records.some((one) => String(one['retry_attempt']) === attempt && one['evidence'] === evidence);
  const { record_due, failure_reason, last_attempt } = row;
  // Its columns alone made it unsendable, and do so again.
  const isJudged =
    failure_reason === 'FORMAT_ERROR' &&
    !records.some((one) => one['retry_attempt'] === last_attempt && one['failure_reason'] === failure_reason);
  return record_due !== undefined || isJudged || !shown.every(isRecorded);
}

/** Its writer has put it, and it is not taken in. */
const isNew = ({ recipient_address, work_queue, failure_reason, is_deleted }: Stored): boolean =>
  recipient_address !== undefined && work_queue === undefined && failure_reason === undefined && is_deleted !== true;

/** In which part of its life a row is. `asked`: a person decides. */
function standing(row: Stored): string {
  const { send_status, failure_reason, work_queue, give_up } = row;
  const queue = String(work_queue);
  if (send_status === 'SUCCESS') return 'delivered';
  if (isNew(row)) return 'new';
  if (queue.startsWith('dead') || (give_up !== undefined && work_queue !== undefined)) return 'dead';
  if (queue.startsWith('due')) return send_status === 'SENDING' ? 'sending' : 'due';
  return failure_reason === 'UNKNOWN' ? 'asked' : 'stopped';
}

/** What each may be after it was lost. What was about to end by a crashed claim may go on. */
const BECOMES: Readonly<Record<string, readonly string[]>> = {
  delivered: ['delivered'],
  stopped: ['stopped', 'asked', 'dead'],
  dead: ['dead', 'stopped', 'asked'],
  new: ['new', 'asked'],
  due: ['new', 'due', 'dead', 'asked', 'delivered'],
  sending: ['new', 'due', 'sending', 'dead', 'asked', 'delivered', 'stopped'],
  asked: ['asked'],
};

/** @param lost as they were, without those that alone said how they stood @param hasArrived by a record of it */
export function restored(
  lost: readonly Stored[],
  rows: readonly Stored[],
  hasArrived: (log_id: string) => boolean,
): string[] {
  return lost.flatMap((was) => {
    const row = rows.find(({ log_id }) => log_id === was['log_id']);
    const predecessor = rows.find(({ log_id }) => log_id === was['predecessor_log_id']);
    // Its predecessor is given up once more, and makes it once more; or it is erased, and nobody wants it.
    if (
      row === undefined &&
      predecessor !== undefined &&
      (standing(predecessor) === 'dead' || predecessor['erased_at'] !== undefined) &&
      standing(was) !== 'stopped' &&
      was['send_attempts'] === 0
    )
      return [];
    if (row === undefined) return [`1: ${was['log_id']} was lost, and is not restored`];
    if (was['erased_at'] !== undefined)
      return row['erased_at'] === undefined ? ['15: restored, and not erased any more'] : [];
    const [before, after] = [standing(was), standing(row)];
    // Nothing but the row keeps what a user asks for; and what somebody was erasing is erased once more.
    const isLater = was['wished'] !== undefined || (was['is_deleted'] === true && row['erased_at'] !== undefined);
    if (isLater && before === 'due' && after === 'stopped') return [];
    // Nobody sends what its writer has deleted.
    if (before === 'stopped' && row['is_deleted'] === true) return [];
    // An event has reached the record, and not the row yet.
    if (before === 'dead' && after === 'delivered' && hasArrived(String(was['log_id']))) return [];
    return BECOMES[before]?.includes(after) ? [] : [`5: ${was['log_id']} was ${before}, and is restored as ${after}`];
  });
}

/** @param rows whose content is lost, and of which nobody is told */
export function unsendable(rows: readonly Stored[]): string[] {
  // What is delivered is in the index only until its record is written; what its writer has put into the row is there.
  const waits = ({ send_status, work_queue, is_deleted, recipient_address }: Stored) =>
    work_queue !== undefined && send_status !== 'SUCCESS' && is_deleted !== true && recipient_address === undefined;
  return rows.filter(waits).map(({ log_id }) => `1: the content of ${log_id} is lost, and nobody is told`);
}
