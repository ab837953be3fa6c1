/**
 * What must hold of a notification whenever nobody is about to change it. The auditor of the simulation and `ops verify`
 * ask the same rules, so that what is proven on production's tables is what every small world is tried against. They
 * share no code with the pipeline, which could not contradict itself: numbers and names are copied from the
 * specification. Plain data in, violations out; each begins with the number of its invariant (docs/architecture.md).
 */

/** A row, or a retry record, as it is stored: anybody may have written anything. */
export type Stored = Readonly<Record<string, unknown>>;

/** A column that should be a text, of a row that may hold anything. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

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

/** Undefined: nobody will come back to it, and nobody said that it is over. */
export function accountOf(row: Stored): Account | undefined {
  const { send_status, failure_reason, claim_id } = row;
  const given_up = send_status === 'FAILED' && textOf(failure_reason) !== '';
  if (send_status === 'SUCCESS') return 'delivered';
  // Both keys make the entry of the index.
  const queue = textOf(row['work_at']) === '' ? '' : textOf(row['work_queue']);
  if (queue.startsWith('due#')) return send_status === 'SENDING' ? 'in_flight' : 'waiting';
  if (queue.startsWith('dead#')) return given_up ? 'dead' : undefined;
  if (given_up) return stoppedAs(row);
  // Before it is taken in, its writer may delete it, or be sending it.
  if (row['is_deleted'] === true && send_status !== 'SENDING') return 'cancelled';
  return send_status === 'SENDING' && claim_id === undefined ? 'in_flight' : undefined;
}

function stoppedAs({ failure_reason, successor_log_id }: Stored): Account {
  if (textOf(successor_log_id) !== '') return 'handed_on';
  if (failure_reason === 'CANCELLED') return 'cancelled';
  return failure_reason === 'EXPIRED' ? 'expired' : 'stopped';
}

/** What the table's document has in a row, and must leave it. */
const CONTENT = ['recipient_address', 'subject', 'message_body', 'fallback_recipient'];

export function hasContentInTheClear(row: Stored): boolean {
  return CONTENT.some((column) => (row[column] ?? null) !== null);
}

/** What a stage decides of its rows. */
export interface RowTerms {
  /** Partitions of the work index per state and priority: as many as the stage ever had. */
  readonly shards: number;
  /** Most retries by priority, for a row that has no limit of its own. */
  readonly retries: Readonly<Record<string, number>>;
}

/** What a row breaks by itself. */
export function rowFaults(row: Stored, { shards, retries }: RowTerms): string[] {
  const { send_status, work_queue, priority, work_at } = row;
  const account = accountOf(row);
  const faults: string[] = [];
  if (account === undefined) faults.push(`1: ${shown(send_status)} and in no part of the work index that fits`);
  const [, of, shard = ''] = textOf(work_queue).split('#');
  const isIn = textOf(work_at) !== '' && textOf(work_queue) !== '';
  if (isIn && (of !== priority || !/^\d+$/.test(shard) || Number(shard) >= shards))
    faults.push(`1: in a part of the work index that nobody reads for it: ${shown(work_queue)}`);
  if (isIn && Number.isNaN(Date.parse(textOf(work_at)))) faults.push('1: in the work index at no time');
  const limit = Number(row['max_retry_count'] ?? retries[textOf(priority)] ?? Number.NaN);
  if (Number(row['send_attempts']) > limit + 1) faults.push('4: more attempts than its limit allows');
  // The worker that sends it, its writer's included, leaves what its writer puts into it meanwhile.
  if (send_status !== 'SENDING') {
    faults.push(...arrivalFaults(row));
    if (hasContentInTheClear(row)) faults.push('14: content is left in the clear');
  }
  return faults;
}

function shown(value: unknown): string {
  return (textOf(value) || 'without a status').slice(0, 40);
}

type Evidence = Readonly<Record<string, string>>;

/** What events have shown decides the row. */
export function arrivalFaults(row: Stored): string[] {
  const shown = Object.values((row['delivery_by_attempt'] ?? {}) as Evidence);
  const arrived = shown.some((what) => what === 'delivered' || what === 'seen');
  const faults: string[] = [];
  if (arrived && row['send_status'] !== 'SUCCESS') faults.push('5: it has arrived, and is not SUCCESS');
  if (arrived !== (row['delivered_at'] !== undefined)) faults.push('5: delivered_at contradicts its events');
  return faults;
}

/** The number of the first attempt that is the pipeline's own, where it is known: it sends what began here from 0. */
export function firstAttempt(row: Stored): number | undefined {
  return row['predecessor_log_id'] !== undefined || row['created_by'] === 'intake-api' ? 0 : undefined;
}

/**
 * What a row's records do not tell of it.
 * @param first the first attempt that needs a record; undefined: the first that has one, as its writer may have made any
 */
export function recordFaults(row: Stored, records: readonly Stored[], first: number | undefined): string[] {
  const numbers = records.map(({ retry_attempt }) => Number(retry_attempt));
  const newest = Number(row['last_attempt'] ?? -1);
  // The newest may not be over, or its record is owed; one that was never claimed here is its writer's.
  const isOpen = row['send_status'] === 'SENDING' || row['record_due'] !== undefined;
  const last = isOpen ? newest - 1 : newest;
  const isOurs = row['claim_id'] !== undefined && !isOpen;
  const from = first ?? (numbers.length > 0 ? Math.min(...numbers) : isOurs ? last : last + 1);
  const kept = new Set(numbers);
  const faults: string[] = [];
  for (let attempt = Math.max(from, 0); attempt <= last; attempt += 1) {
    if (!kept.has(attempt)) faults.push(`6: attempt ${attempt} has no record`);
  }
  const { retry_status } = records.find(({ retry_attempt }) => Number(retry_attempt) === newest) ?? {};
  const { send_status } = row;
  if (retry_status === 'SUCCESS' && send_status !== 'SUCCESS' && send_status !== 'SENDING')
    faults.push(`5: recorded as delivered, and ${send_status}`);
  for (const [attempt, what] of Object.entries((row['delivery_by_attempt'] ?? {}) as Evidence)) {
    const status = records.find(({ retry_attempt }) => retry_attempt === Number(attempt))?.['retry_status'];
    const expected = what.endsWith('bounced') ? 'FAILED' : 'SUCCESS';
    if (status !== undefined && status !== expected) faults.push(`6: attempt ${attempt} is ${status}, and was ${what}`);
  }
  return faults;
}

/** A message in a dead-letter queue. */
export interface Letter {
  readonly message_id: string;
  readonly log_id: string;
  readonly run_id: string;
}

/** Whether the message can bring the dead row back: any other one of the notification is a straggler. */
export function isLetterOf(row: Stored, { message_id, log_id, run_id }: Letter): boolean {
  return log_id === row['log_id'] && (message_id === row['dead_message_id'] || run_id === row['dead_run_id']);
}

const DAY_MS = 86_400_000;
/** SQS drops a message from a dead-letter queue so long after it was first queued. */
const LETTER_KEPT_MS = 14 * DAY_MS;
/** A lane keeps a message at most so long: its letter may have been queued so long before its death. */
const LANE_KEPT_MS = 4 * DAY_MS;

/** Whether SQS must still hold the letter of a row that is dead. */
export function needsLetter(row: Stored, now: number): boolean {
  const queued = textOf(row['dead_enqueued_at']) || textOf(row['dead_sent_at']);
  const since = queued === '' ? Date.parse(textOf(row['work_at'])) - LANE_KEPT_MS : Date.parse(queued);
  return since + LETTER_KEPT_MS > now;
}
