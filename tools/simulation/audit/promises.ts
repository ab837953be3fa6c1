// The invariants of docs/architecture.md as a small world can be asked for them. Plain data in, violations out: what is
// remembered is part of a state, so it is never changed. Shares no code with the pipeline.
import { diedAgain } from './allowance-promises.ts';
import { broken, claimed, deleted, givenBack, made, ofThisLife } from './life-promises.ts';
import type { Acceptance, Memory, Stored } from './memory.ts';

/** A column that should be a text, of a row that may hold anything. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Somebody has put it into the work index, and any value into any of its columns: only what comes of it counts. */
export const isIntruder = ({ log_id }: Stored): boolean => String(log_id).startsWith('hostile-');
type Write = { readonly by: string; readonly now: number; readonly predecessor?: Stored | undefined };

/** What came of an observation. */
export interface Judged {
  readonly memory: Memory;
  readonly violations: readonly string[];
}

/** Retries by priority: the source document's table (batch-952-notification-retry.md §5). */
const RETRIES: Readonly<Record<string, number>> = { urgent: 10, important: 7, normal: 5, info: 3 };
/** Shortest wait after a failure; twice that after a 5xx. */
export const BASE_INTERVAL_MS = 300_000;

function marked(
  memory: Memory,
  how: Acceptance['how'],
  which: (one: Acceptance, log_id: string) => boolean,
  from: readonly Acceptance['how'][] = ['open', 'unrecorded'],
  why?: string,
): Memory {
  const change = { how, ...(why !== undefined && { why }) };
  const accepted = Object.entries(memory.accepted).map(([log_id, all]) => [
    log_id,
    all.map((one) => (from.includes(one.how) && which(one, log_id) ? { ...one, ...change } : one)),
  ]);
  return { ...memory, accepted: Object.fromEntries(accepted) };
}

/** The worker that sent it is dead, or was told nothing: nobody can note what was accepted. */
export function died(memory: Memory, by: string, why?: string): Memory {
  return marked(memory, 'excused', (one) => one.by === by, ['open', 'unrecorded'], why);
}

/** Until storage takes the record, nobody else knows what was accepted. */
export function unrecorded(memory: Memory, by: string, why: string): Memory {
  return marked(memory, 'unrecorded', (one) => one.by === by, ['open'], why);
}

/** So often a worker asks RetryLog, and then the row, to keep an accepted attempt. */
const TRIES_OF_BOTH = 6 + 5;

export function refused(memory: Memory, by: string, port: string): Memory {
  if (!/^(records\.(put|replace)|rows\.settle)/.test(port)) return memory;
  return { ...memory, refused: { ...memory.refused, [by]: (memory.refused[by] ?? 0) + 1 } };
}

/** A worker ends. What neither of the two tables has taken in all of its tries nobody can know. */
export function ceased(memory: Memory, by: string): Memory {
  const { [by]: times = 0, ...others } = memory.refused;
  const known = times >= TRIES_OF_BOTH ? marked(memory, 'excused', (one) => one.by === by) : memory;
  return times === 0 ? memory : { ...known, refused: others };
}

/** The provider takes the acceptance back, so that another send is no duplicate. */
export function bounced(memory: Memory, log_id: string): Memory {
  return marked(memory, 'excused', (_, id) => id === log_id, ['open', 'recorded']);
}

export function redriven(memory: Memory, log_ids: readonly string[]): Memory {
  const times = { ...memory.redriven };
  for (const log_id of log_ids) times[log_id] = (times[log_id] ?? 0) + 1;
  return { ...memory, redriven: times };
}

export function handedOver(memory: Memory, log_id: string): Memory {
  return { ...memory, handedOver: [...memory.handedOver, log_id] };
}

/** @param row as it is when its operator is told: its writer may have put it anew between the erasure and the answer */
export function erased(memory: Memory, { log_id, erased_at }: Stored): Memory {
  const id = String(log_id);
  const isAnotherLife = erased_at === undefined && (memory.lives[id] ?? 0) > 0;
  return isAnotherLife ? memory : { ...memory, erased: [...memory.erased, id] };
}

/** Lambda ends an invocation that has done nothing but wait. */
export const OUT_OF_TIME = "13: calls that hang take all of a function's time";

export interface Send {
  readonly log_id: string;
  readonly attempt: number;
  readonly by: string;
  readonly recipient: string;
  readonly now: number;
  /** Applied after its sender was told that it had failed, or had died. */
  readonly late: boolean;
  /** Milliseconds that the function of its sender still has. */
  readonly left_ms: number;
  /** Milliseconds by which clocks may differ. */
  readonly apart?: number;
}

/** A send takes up to 20 s, and the record of what came of it up to 3. */
const SEND_AND_RECORD_MS = 23_000;

/** A message reaches the provider. @param records of the notification */
export function sent(memory: Memory, send: Send, row: Stored | undefined, records: readonly Stored[]): Judged {
  const { log_id, attempt, recipient, now, late } = send;
  const violations: string[] = [];
  const since = memory.readdressed[log_id] ?? Number.POSITIVE_INFINITY;
  // A successor that is made since is for whom the writer has named, if that was the fallback's recipient, too.
  const [, first = log_id, of] = /^((n\d+)-fallback)(?:-\d+)?$/.exec(log_id) ?? [];
  const [given, later] = [`${first}@example.com`, `new-${log_id}@example.com`];
  const isElsewhere = of !== undefined && memory.elsewhere.includes(of) && recipient === `new-${given}`;
  const known = (recipient === given || isElsewhere) && attempt <= since;
  if (!known && !(recipient === later && since < Number.POSITIVE_INFINITY))
    violations.push(`9: sent to ${recipient === given ? 'its former' : 'another'} recipient`);
  if (late) return { memory, violations };
  if (send.left_ms < SEND_AND_RECORD_MS) violations.push('13: sent by a function whose time may end before the record');
  // Its writer may have put it anew since the claim, which is seconds old: nobody asks again.
  if (attempt <= (memory.corrected[log_id] ?? -1)) return { memory, violations };
  if (row?.['send_status'] !== 'SENDING') violations.push(`2: sent while its row is ${row?.['send_status']}`);
  else if (row['last_attempt'] !== attempt) violations.push('2: sent by a claim that another one has followed');
  if (attempt > (memory.deleted[log_id] ?? attempt))
    violations.push('5: sent although it was cancelled before its claim');
  if (memory.knownArrived.includes(`${log_id}#${attempt}`))
    violations.push('5: sent although its claim knew that it had arrived');
  if (memory.unwanted.includes(`${log_id}#${attempt}`))
    violations.push('16: sent although nobody wanted the successor before its claim');
  if (ofThisLife(memory, log_id).some(({ how }) => how === 'recorded'))
    violations.push('5: sent after it was recorded as delivered');
  const last = records
    .filter(({ retry_attempt }) => Number(retry_attempt) < attempt)
    .sort(byAttempt)
    .at(-1);
  const early =
    last?.['failure_reason'] === undefined &&
    Date.parse(String(last?.['next_retry_at'] ?? '')) > now + (send.apart ?? 0);
  if (early && row?.['work_at'] === last?.['next_retry_at']) violations.push('7: sent before it was due');
  return { memory, violations };
}

const byAttempt = (a: Stored, b: Stored) => Number(a['retry_attempt']) - Number(b['retry_attempt']);

/** The provider takes the message. */
export function accepted(memory: Memory, { log_id, attempt, by, late }: Send): Judged {
  const before = memory.accepted[log_id] ?? [];
  // A claim that is seconds old is sent, though its writer has put the row anew since: to the former recipient.
  const isFormer = attempt <= (memory.corrected[log_id] ?? -1);
  const taken = ofThisLife(memory, log_id).some(({ how }) => how === 'open' || how === 'recorded');
  const again = !late && !isFormer && taken;
  const acceptance: Acceptance = { attempt, by, how: late ? 'excused' : 'open' };
  return {
    memory: { ...memory, accepted: { ...memory.accepted, [log_id]: [...before, acceptance] } },
    violations: again ? ['3: a duplicate without a death or a lost answer'] : [],
  };
}

/** @param row as it is @param by who wrote it: an event corrects what was said of an attempt, and leaves the times of what followed */
export function recorded(memory: Memory, record: Stored, by: string, row?: Stored): Judged {
  const { original_log_id, retry_attempt, retry_status, error_type, retry_at, next_retry_at, response_message } =
    record;
  const wait = Date.parse(String(next_retry_at)) - Date.parse(String(retry_at));
  const least = error_type === 'SERVER_OVERLOAD' ? 2 * BASE_INTERVAL_MS : BASE_INTERVAL_MS;
  const judged =
    !by.startsWith('event') &&
    retry_status === 'FAILED' &&
    record['uncounted'] !== true &&
    !/died/.test(String(response_message));
  const violations = judged && wait < least ? ['7: the next attempt comes too soon'] : [];
  violations.push(...diedAgain(memory, row, record, by));
  if (retry_status !== 'SUCCESS') return { memory, violations };
  const isIts = ({ attempt }: Acceptance, id: string) => id === original_log_id && attempt === retry_attempt;
  return { memory: marked(memory, 'recorded', isIts), violations };
}

/** A row that is stored has changed. @param was absent where it is new @param write by whom; the predecessor as it is */
export function written(memory: Memory, was: Stored | undefined, row: Stored, write: Write): Judged {
  const { by, now, predecessor } = write;
  const { log_id = '', send_status, last_attempt, claim_id } = row as Record<string, string>;
  if (was === undefined || isIntruder(row)) return { memory: made(memory, row), violations: [] };
  const violations = broken(memory, was, row);
  let next = givenBack(memory, was, row);
  const claims = send_status === 'SENDING' && claim_id !== was['claim_id'];
  if (row['is_deleted'] === true && was['is_deleted'] !== true) next = deleted(next, was);
  if (claims) next = claimed(next, row, predecessor);
  if (row['failure_reason'] === 'CANCELLED' && by.startsWith('the bulk'))
    next = { ...next, cancelled: [...next.cancelled, log_id] };
  const held = was['send_status'] === 'SENDING' && Date.parse(String(was['claim_until'])) > now;
  if (claims && held) violations.push('2: two unexpired claims');
  const hasArrived = Object.values(row['delivery_by_attempt'] ?? {}).some((it) => it === 'delivered' || it === 'seen');
  if (claims && hasArrived) next = { ...next, knownArrived: [...next.knownArrived, `${log_id}#${last_attempt}`] };
  if (row['record_due'] !== undefined) {
    next = marked(next, 'recorded', (one, id) => id === log_id && one.attempt === Number(last_attempt));
  }
  const final = was['send_status'] === 'SUCCESS' && send_status !== 'SUCCESS';
  if (final && !by.startsWith('event')) violations.push(`5: SUCCESS became ${send_status}`);
  const limit = Number(row['max_retry_count'] ?? RETRIES[String(row['priority'])]);
  if (Number(row['send_attempts']) > limit + 1) violations.push('4: more attempts than its limit allows');
  const redrives = Number(row['redrive_count'] ?? 0);
  if (redrives > (memory.redriven[log_id] ?? 0)) violations.push('11: redrive_count without an operator');
  return { memory: next, violations };
}

/** A message as it goes into a queue. */
export function queued(text: string): readonly string[] {
  return /@|words|secret/.test(text) ? ['9: a queue holds an address or a body'] : [];
}
