/**
 * What must hold of a notification whenever nobody is about to change it. The auditor of the simulation and `ops verify`
 * ask the same rules, so that what is proven on production's tables is what every small world is tried against. They
 * share no code with the pipeline, which could not contradict itself: numbers and names are copied from the
 * specification. Plain data in, violations out.
 */

/** A row, or a retry record, as it is stored: anybody may have written anything. */
export type Stored = Readonly<Record<string, unknown>>;

/** What does not hold. */
export interface Fault {
  /** The number of its invariant (docs/architecture.md), or N1 to N4 of newsletters. */
  readonly rule: string;
  readonly says: string;
}

export const fault = (rule: string, says: string): Fault => ({ rule, says });

/** A column that should be a text, of a row that may hold anything. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Writers set a column to NULL that has no value. */
export const isAbsent = (value: unknown): boolean => (value ?? null) === null;

/** What becomes of a notification: each is in exactly one of these. */
export const ACCOUNTS = [
  'delivered',
  'waiting',
  'in_flight',
  'dead',
  'stopped',
  'cancelled',
  'expired',
  'handed_on',
] as const;
export type Account = (typeof ACCOUNTS)[number];

/** Why the pipeline gives a notification up. A row with any other reason is work, as its writer says so alone. */
export const REASONS: readonly unknown[] = [
  ...['NETWORK_TIMEOUT', 'UNKNOWN', 'SERVER_OVERLOAD', 'RATE_LIMITED', 'AUTH_TEMPORARY', 'INVALID_RECIPIENT'],
  ...['AUTH_FAILED', 'FORMAT_ERROR', 'PERMISSION_DENIED', 'MAX_RETRIES', 'EXPIRED', 'CANCELLED'],
];
const PIPELINE = 'notification-retry';

/** Undefined: nobody will come back to it, and nobody said that it is over. @param now epoch milliseconds */
export function accountOf(row: Stored, now: number): Account | undefined {
  const { send_status, failure_reason, work_queue, work_at, updated_by } = row;
  const given_up = send_status === 'FAILED' && REASONS.includes(failure_reason);
  if (send_status === 'SUCCESS') return 'delivered';
  // Both keys make the entry of the index.
  const queue = textOf(work_at) === '' ? '' : textOf(work_queue);
  if (queue.startsWith('due#')) return send_status === 'SENDING' ? 'in_flight' : 'waiting';
  if (queue.startsWith('dead#')) return given_up ? 'dead' : undefined;
  const ours = updated_by === PIPELINE || !isAbsent(work_at);
  // What stops a dead notification forgets its letter: one that remembers it was taken off the list by nobody of ours.
  const unlisted = !isAbsent(work_at) && textOf(row['dead_run_id']) !== '';
  if (given_up && isAbsent(work_queue) && ours) return unlisted ? undefined : stoppedAs(row);
  // Before it is taken in, its writer may delete it, or be sending it.
  const writers = send_status === 'SENDING' && isAbsent(row['claim_id']);
  if (writers && mayBeSending(row, now)) return 'in_flight';
  return row['is_deleted'] === true && (writers || send_status !== 'SENDING') ? 'cancelled' : undefined;
}

const HOUR_MS = 3_600_000;
/** A writer has an hour for its attempt, and the reconciler comes once a day; a time without a zone may be half a day off. */
const WRITER_SENDS_MS = (1 + 24 + 12) * HOUR_MS;

/** What has no time is given one by the reconciler. */
function mayBeSending(row: Stored, now: number): boolean {
  const times = timesOf(row);
  return times.length === 0 || now - Math.max(...times) < WRITER_SENDS_MS;
}

function timesOf(row: Stored): number[] {
  const written = ['updated_at', 'created_at', 'scheduled_at', 'next_retry_at', 'first_attempt_at'];
  return written.map((column) => timeOf(row[column])).filter((time) => !Number.isNaN(time));
}

/** Also of the table document's form, `2025-06-01 10:30:45`. */
function timeOf(value: unknown): number {
  const text = textOf(value).replace(' ', 'T');
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
}

/**
 * Written a moment ago by somebody else, and never taken in: the stream brings it, which may wait while storage or keys
 * refuse. Later than this its lag rings an alarm.
 */
export function isOnItsWay(row: Stored, now: number): boolean {
  const { work_queue, work_at, history_bucket, claim_id } = row;
  const untouched = [work_queue, work_at, history_bucket, claim_id].every(isAbsent);
  const written = timesOf(row).filter((time) => time <= now + CLOCKS_APART_MS);
  return untouched && written.length > 0 && now - Math.max(...written) < STREAM_LAG_MS;
}

const STREAM_LAG_MS = 15 * 60_000;

/**
 * What an event shows is written into the row, then into the record. Its function may have died between the two, or have
 * left the end of the row to the worker of an attempt: it comes back, and rings an alarm when it comes later than this.
 */
export function isBeingTold(row: Stored, now: number): boolean {
  return evidenceOf(row).length > 0 && now - timeOf(row['updated_at']) < EVENT_LAG_MS;
}

const EVENT_LAG_MS = 15 * 60_000;
const CLOCKS_APART_MS = 5_000;

function stoppedAs({ failure_reason, successor_log_id }: Stored): Account {
  if (textOf(successor_log_id) !== '') return 'handed_on';
  if (failure_reason === 'CANCELLED') return 'cancelled';
  return failure_reason === 'EXPIRED' ? 'expired' : 'stopped';
}

/** What the table's document has in a row, and must leave it. */
const CONTENT = ['recipient_address', 'subject', 'message_body', 'fallback_recipient'];

export const hasContentInTheClear = (row: Stored): boolean => CONTENT.some((column) => !isAbsent(row[column]));

/**
 * Content that cannot be stored stays for its writer to correct: of a row that is set aside until then, and of one that
 * is over, which only its writer may change. It is said, and breaks no rule.
 */
export function isLeftToItsWriter(row: Stored): boolean {
  const { send_status, failure_reason, updated_by, work_at, work_queue, is_deleted } = row;
  if (!hasContentInTheClear(row) || !isAbsent(work_queue)) return false;
  const is_set_aside = failure_reason === 'FORMAT_ERROR' && updated_by === PIPELINE && isAbsent(work_at);
  if (send_status === 'FAILED' && is_set_aside) return true;
  const over = send_status === 'SUCCESS' || is_deleted === true || REASONS.includes(failure_reason);
  return over && isUnstorable(row);
}

/** By the table's document. A row without ids of its own has nothing that its content could be bound to. */
function isUnstorable(row: Stored): boolean {
  const { message_format, fallback_channel } = row;
  const required = ['recipient_address', 'message_body', ...(isAbsent(fallback_channel) ? [] : ['fallback_recipient'])];
  const most = { recipient_address: 500, fallback_recipient: 500, subject: 500, fallback_integration_config_id: 50 };
  const isText = (value: unknown, length: number) => typeof value === 'string' && [...value].length <= length;
  const fits = ([column, length]: readonly [string, number]) => isAbsent(row[column]) || isText(row[column], length);
  const of_format = isAbsent(message_format) || ['PLAIN', 'HTML', 'MARKDOWN'].includes(textOf(message_format));
  const named = ['log_id', 'tenant_id'].every((id) => textOf(row[id]) !== '' && isText(row[id], 50));
  const complete = required.every((column) => textOf(row[column]) !== '');
  return !(named && complete && of_format && Object.entries(most).every(fits));
}

/** What a stage decides of its rows. */
export interface RowTerms {
  /** Partitions of the work index per state and priority: as many as the stage ever had. */
  readonly shards: number;
}

/** What a row breaks by itself. @param now epoch milliseconds */
export function rowViolations(row: Stored, { shards }: RowTerms, now: number): Fault[] {
  const { send_status, work_queue, priority, work_at } = row;
  const account = accountOf(row, now);
  const faults: Fault[] = [];
  if (account === undefined)
    faults.push(fault('1', `${shown(send_status)} and in no part of the work index that fits`));
  const [, of, shard = ''] = textOf(work_queue).split('#');
  const isIn = textOf(work_at) !== '' && textOf(work_queue) !== '';
  if (isIn && (of !== priority || !/^\d+$/.test(shard) || Number(shard) >= shards))
    faults.push(fault('1', `in a part of the work index that nobody reads for it: ${shown(work_queue)}`));
  if (isIn && Number.isNaN(Date.parse(textOf(work_at)))) faults.push(fault('1', 'in the work index at no time'));
  if (account === 'waiting' && Date.parse(textOf(work_at)) > Number(row['expires_at']) * 1_000)
    faults.push(fault('1', 'it expires before it is due'));
  faults.push(...attemptFaults(row));
  // The worker that sends it, its writer's included, leaves what its writer puts into it meanwhile.
  if (send_status !== 'SENDING') {
    if (!isBeingTold(row, now)) faults.push(...arrivalFaults(row));
    if (hasContentInTheClear(row) && !isLeftToItsWriter(row)) faults.push(fault('14', 'content is left in the clear'));
  }
  return faults;
}

const shown = (value: unknown): string => (textOf(value) || 'without a status').slice(0, 40);

/**
 * By what the row says alone: an integration, or yesterday's configuration, may have allowed other limits than today's.
 * A row that was never taken in counts as its writer likes.
 */
export function attemptFaults(row: Stored): Fault[] {
  const { send_attempts, attempts_left, max_retry_count, last_attempt } = row;
  if (isAbsent(attempts_left)) return [];
  const overOwn = !isAbsent(max_retry_count) && Number(send_attempts) > Number(max_retry_count) + 1;
  const faults = Number(attempts_left) < 0 || overOwn ? [fault('4', 'more attempts than its limit allows')] : [];
  // Attempts are numbered from 0, those that do not count included.
  if (!isAbsent(last_attempt) && Number(send_attempts) > Number(last_attempt) + 1)
    faults.push(fault('4', 'it counts more attempts than were made'));
  return faults;
}

/** What events have shown of each attempt. */
export function evidenceOf({ delivery_by_attempt }: Stored): (readonly [string, string])[] {
  const known = typeof delivery_by_attempt === 'object' && delivery_by_attempt !== null ? delivery_by_attempt : {};
  return Object.entries(known).map(([attempt, what]) => [attempt, textOf(what)]);
}

/** What events have shown decides the row. */
export function arrivalFaults(row: Stored): Fault[] {
  const shown = evidenceOf(row);
  const arrived = shown.some(([, what]) => what === 'delivered' || what === 'seen');
  const faults: Fault[] = [];
  if (arrived && row['send_status'] !== 'SUCCESS') faults.push(fault('5', 'it has arrived, and is not SUCCESS'));
  // What its writer delivered, its writer says: no event of ours shows it.
  const told = shown.length > 0 || firstAttempt(row) === 0;
  if (told && arrived === isAbsent(row['delivered_at'])) faults.push(fault('5', 'delivered_at contradicts its events'));
  return faults;
}

/** A row lasts for two years; one that starts anew near its end, for a month from then on. */
const KEPT_ON_MS = 60 * 86_400_000;

/** The number of the first attempt that is the pipeline's own, where it is known: it sends what began here from 0. */
export function firstAttempt(row: Stored): number | undefined {
  // Redriven near its end, which was put off then: the records of its former attempts have kept theirs.
  const kept_ms = Number(row['expires_at']) * 1_000 - Date.parse(textOf(row['first_attempt_at']));
  if (kept_ms < KEPT_ON_MS) return undefined;
  return !isAbsent(row['predecessor_log_id']) || row['created_by'] === 'intake-api' ? 0 : undefined;
}
