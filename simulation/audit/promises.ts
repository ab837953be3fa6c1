/**
 * The invariants of docs/architecture.md as a small world can be asked for them. Plain data in, violations out: what is
 * remembered is part of a state, so it is never changed. Shares no code with the pipeline.
 */

/** A row, or a retry record, as it is stored. */
export type Stored = Readonly<Record<string, unknown>>;

/** What the provider took. `excused`: whoever sent it died, or was told that it had failed, before it could be noted. */
interface Acceptance {
  readonly attempt: number;
  readonly by: string;
  readonly how: 'open' | 'recorded' | 'excused';
}

/** What the promises need of the past. */
export interface Memory {
  readonly accepted: Readonly<Record<string, readonly Acceptance[]>>;
  /** Claims, as `log_id#attempt`, that were made when an event had shown already that the notification had arrived. */
  readonly knownArrived: readonly string[];
  /** How often an operator sent a notification again. */
  readonly redriven: Readonly<Record<string, number>>;
  /** The attempts that had been claimed when the writer of a notification changed its recipient. */
  readonly corrected: Readonly<Record<string, number>>;
  /** Notifications whose producer was told that they are accepted. */
  readonly handedOver: readonly string[];
}

export const NOTHING_YET: Memory = { accepted: {}, knownArrived: [], redriven: {}, corrected: {}, handedOver: [] };

/** What came of an observation. */
export interface Judged {
  readonly memory: Memory;
  readonly violations: readonly string[];
}

/** Retries by priority: the source document's table (batch-952-notification-retry.md §5). */
const RETRIES: Readonly<Record<string, number>> = { urgent: 10, important: 7, normal: 5, info: 3 };
const BASE_INTERVAL_MS = 300_000;

export function marked(
  memory: Memory,
  how: Acceptance['how'],
  which: (one: Acceptance, log_id: string) => boolean,
  from: readonly Acceptance['how'][] = ['open'],
): Memory {
  const accepted = Object.entries(memory.accepted).map(([log_id, all]) => [
    log_id,
    all.map((one) => (from.includes(one.how) && which(one, log_id) ? { ...one, how } : one)),
  ]);
  return { ...memory, accepted: Object.fromEntries(accepted) };
}

/** The worker that sent it is dead: nobody can note what was accepted. */
export function died(memory: Memory, by: string): Memory {
  return marked(memory, 'excused', (one) => one.by === by);
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

/** Its writer puts another recipient into a row: the attempts that are claimed from now on go there. */
export function corrected(memory: Memory, { log_id, last_attempt }: Stored): Memory {
  return { ...memory, corrected: { ...memory.corrected, [String(log_id)]: Number(last_attempt ?? -1) } };
}

export function handedOver(memory: Memory, log_id: string): Memory {
  return { ...memory, handedOver: [...memory.handedOver, log_id] };
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
}

/** A send takes up to 20 s, and the record of what came of it up to 3. */
const SEND_AND_RECORD_MS = 23_000;

/** A message reaches the provider. @param records of the notification */
export function sent(memory: Memory, send: Send, row: Stored | undefined, records: readonly Stored[]): Judged {
  const { log_id, attempt, recipient, now, late } = send;
  const violations: string[] = [];
  const since = memory.corrected[log_id] ?? Number.POSITIVE_INFINITY;
  const known = recipient === `${log_id}@example.com` && attempt <= since;
  if (!known && !(recipient === `new-${log_id}@example.com` && since < Number.POSITIVE_INFINITY))
    violations.push(`9: sent to ${recipient === `${log_id}@example.com` ? 'its former' : 'another'} recipient`);
  if (late) return { memory, violations };
  if (send.left_ms < SEND_AND_RECORD_MS) violations.push('13: sent by a function whose time may end before the record');
  if (row?.['send_status'] !== 'SENDING') violations.push(`2: sent while its row is ${row?.['send_status']}`);
  else if (row['last_attempt'] !== attempt) violations.push('2: sent by a claim that another one has followed');
  if (row?.['is_deleted'] === true) violations.push('5: sent although it was cancelled before its claim');
  if (memory.knownArrived.includes(`${log_id}#${attempt}`))
    violations.push('5: sent although its claim knew that it had arrived');
  const last = records
    .filter(({ retry_attempt }) => Number(retry_attempt) < attempt)
    .sort(byAttempt)
    .at(-1);
  const early = last?.['failure_reason'] === undefined && Date.parse(String(last?.['next_retry_at'] ?? '')) > now;
  if (early && row?.['work_at'] === last?.['next_retry_at']) violations.push('7: sent before it was due');
  return { memory, violations };
}

const byAttempt = (a: Stored, b: Stored) => Number(a['retry_attempt']) - Number(b['retry_attempt']);

/** The provider takes the message. */
export function accepted(memory: Memory, { log_id, attempt, by, late }: Send): Judged {
  const before = memory.accepted[log_id] ?? [];
  const again = !late && before.some(({ how }) => how !== 'excused');
  const acceptance: Acceptance = { attempt, by, how: late ? 'excused' : 'open' };
  return {
    memory: { ...memory, accepted: { ...memory.accepted, [log_id]: [...before, acceptance] } },
    violations: again ? ['3: a duplicate without a death or a lost answer'] : [],
  };
}

/** @param by who wrote it: an event corrects what was said of an attempt, and leaves the times of what followed */
export function recorded(memory: Memory, record: Stored, by: string): Judged {
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
  if (retry_status !== 'SUCCESS') return { memory, violations };
  const isIts = ({ attempt }: Acceptance, log_id: string) => log_id === original_log_id && attempt === retry_attempt;
  return { memory: marked(memory, 'recorded', isIts), violations };
}

/** A row that is stored has changed. @param by who wrote it */
export function written(memory: Memory, was: Stored, row: Stored, { by, now }: { by: string; now: number }): Judged {
  const { log_id, send_status, last_attempt, claim_id } = row as Record<string, string>;
  const violations: string[] = [];
  let next = memory;
  const claims = send_status === 'SENDING' && claim_id !== was['claim_id'];
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
  if (Number(row['redrive_count'] ?? 0) > (memory.redriven[log_id ?? ''] ?? 0))
    violations.push('11: redrive_count without an operator');
  return { memory: next, violations };
}

/** A message as it goes into a queue. */
export function queued(text: string): readonly string[] {
  return /@|words/.test(text) ? ['9: a queue holds an address or a body'] : [];
}

/** A world in which nothing is left to do. */
export interface End {
  readonly rows: readonly Stored[];
  readonly records: readonly Stored[];
  /** The log_ids of the dead letters. */
  readonly letters: readonly unknown[];
}

export function ended(memory: Memory, end: End): readonly string[] {
  const missing = memory.handedOver.filter((accepted) => !end.rows.some(({ log_id }) => log_id === accepted));
  return [...missing.map(() => '1: accepted from its producer, and no row'), ...rowsEnded(memory, end)];
}

/** What the table's document has in a row, and must leave it. */
const CONTENT = ['recipient_address', 'subject', 'message_body', 'fallback_recipient'];
/** Ends that another channel may avoid: a notification that names a fallback goes on there, once. */
const FAILED_OVER: ReadonlySet<unknown> = new Set(['MAX_RETRIES', 'EXPIRED', 'INVALID_RECIPIENT']);

function rowsEnded(memory: Memory, { rows, records, letters }: End): readonly string[] {
  return rows.flatMap((row) => {
    const { log_id, send_status, failure_reason, work_queue = '', last_attempt } = row;
    const [violations, queue] = [[] as string[], String(work_queue)];
    const finished = send_status === 'SUCCESS' || (send_status === 'FAILED' && failure_reason !== undefined);
    if (!finished || queue.startsWith('due'))
      violations.push(`1: lost: ${send_status} ${failure_reason ?? ''} ${queue} at the end`);
    if (row['record_due'] !== undefined) violations.push('6: it owes its record at the end');
    if (CONTENT.some((column) => (row[column] ?? null) !== null)) violations.push('14: content is left in the clear');
    const its = records.filter(({ original_log_id }) => original_log_id === log_id);
    const told = its.some(({ retry_status }) => retry_status === 'SUCCESS') && memory.accepted[String(log_id)];
    if (send_status === 'SUCCESS' && !told) violations.push('1: SUCCESS without an acceptance and its record');
    // The first send was its writer's, unless the row began here.
    const first = row['predecessor_log_id'] !== undefined || row['created_by'] === 'intake-api' ? 0 : 1;
    const numbers = its.map(({ retry_attempt }) => Number(retry_attempt)).filter((number) => number >= first);
    if (numbers.length !== Number(last_attempt) + 1 - first) violations.push('6: an attempt has no record');
    if (queue.startsWith('dead') && !letters.includes(log_id)) violations.push('11: a dead row without a letter');
    const goesOn = row['fallback_channel'] !== undefined && FAILED_OVER.has(failure_reason);
    const successors = rows.filter(({ predecessor_log_id }) => predecessor_log_id === log_id);
    if (successors.length !== (goesOn ? 1 : 0)) violations.push(`1: ${successors.length} successors`);
    return violations;
  });
}

/** @param dead the rows that were dead when all letters were redriven @param rows as they are after that */
export function answeredRedrive(dead: readonly Stored[], rows: readonly Stored[]): readonly string[] {
  return dead.flatMap(({ log_id, last_attempt }) => {
    const row = rows.find((one) => one['log_id'] === log_id);
    const attempted = Number(row?.['last_attempt']) > Number(last_attempt);
    return attempted || row?.['send_status'] === 'SUCCESS' ? [] : ['11: a redrive of its letters sends it no more'];
  });
}
