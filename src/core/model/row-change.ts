import { type ForeignRow, GIVEN_COLUMNS, type NotificationRow, TOLD_COLUMNS, UPDATED_BY } from './notification.ts';
import { type QueueMessage, randomToken } from './queue-message.ts';
import { cameBackOf, endOf, workQueuePrefix } from './work-index.ts';

export interface RowChange {
  readonly set: Partial<NotificationRow>;
  readonly remove?: readonly (keyof NotificationRow)[];
}

/** What attempts of a former life have come to: no attempt of a later one. */
export const OF_FORMER_LIFE = [
  'first_attempt_at',
  'successor_log_id',
  'delivery_by_attempt',
  'delivered_at',
  'opened_at',
  'bounced_at',
  'next_life',
] as const satisfies readonly (keyof NotificationRow)[];

/** What the recipient of before has said: the one who is named now has not. */
export const OF_FORMER_RECIPIENT = [
  'suppressed',
  'complained_at',
] as const satisfies readonly (keyof NotificationRow)[];

/** Why a row was given up, or is to be, and its letter. */
export const OF_AN_END = [
  ...(['failure_reason', 'give_up', 'dead_message_id', 'dead_run_id', 'dead_enqueued_at', 'dead_sent_at'] as const),
] as const satisfies readonly (keyof NotificationRow)[];

export function withChange(row: NotificationRow, change: RowChange): NotificationRow {
  const next: Record<string, unknown> = { ...row, ...change.set };
  for (const name of change.remove ?? []) delete next[name];
  return next as unknown as NotificationRow;
}

/** When a write is made, and what tells it from others of the same second. */
export interface WriteTerms {
  readonly now: Date;
  readonly random: () => number;
}

/** The change with what each write of ours adds: when, by whom, and the row's turn. @param row as it was read */
export function stamped(row: object, { set, remove }: RowChange, terms: WriteTerms) {
  const ours = { ...set, updated_at: terms.now.toISOString(), updated_by: UPDATED_BY };
  return {
    set: { ...ours, ...turnOf(row, { set: ours, ...(remove && { remove }) }, terms) },
    ...(remove && { remove }),
  };
}

/**
 * The turn of a change that enters or leaves a final state, or ends the row for another reason. Producers are told each
 * end once, and recognise it by the turn: attempts and redrives begin anew when a writer puts the row anew, and need not
 * change between two ends. A bounce that leaves a row ended sets it, too, so that the end is the last that is told.
 */
export function turnOf(row: object, { set, remove = [] }: Changed, terms: WriteTerms): { readonly turn?: string } {
  const after: Record<PropertyKey, unknown> = { ...row, ...set };
  for (const name of remove) delete after[name];
  const end = endWith(after);
  const isSame =
    end === endWith({ ...row }) && (end === undefined || String(cameBackOf(row)) === String(cameBackOf(after)));
  return isSame ? {} : { turn: newTurn(terms) };
}

function endWith(row: ForeignRow): string | undefined {
  const end = endOf(row);
  return end === 'given_up' ? String(row['failure_reason']) : end;
}

/** Bytes of a turn: with its name as many as a death frees (settlements.ts), so that no row outgrows its write unit by it. */
export const TURN_BYTES = 7;
const TOKEN_BYTES = 4;

/** Of the second and of a draw: nothing has to remember the turns before. */
function newTurn({ now, random }: WriteTerms): string {
  const second = Math.floor(now.getTime() / 1000).toString(36);
  return second.slice(TOKEN_BYTES - TURN_BYTES) + randomToken(random).slice(-TOKEN_BYTES);
}

/**
 * Whether the row is as the change leaves it. A storage client repeats a write whose answer was lost: if that write was
 * applied, its condition fails then, and the row shows the change.
 */
export function shows(row: object, { set, remove = [] }: Changed): boolean {
  const found: Readonly<Record<PropertyKey, unknown>> = { ...row };
  return (
    Object.entries(set).every(([name, value]) => value === undefined || isSameValue(found[name], value)) &&
    remove.every((name) => found[name] === undefined)
  );
}

interface Changed {
  readonly set: object;
  readonly remove?: readonly PropertyKey[];
}

/** Whether a change that was refused was applied before: a claim is known by its token, any other change by its result. */
export function wasApplied(row: NotificationRow, change: RowChange): boolean {
  const { send_status, claim_id } = change.set;
  return claim_id === undefined ? shows(row, change) : row.claim_id === claim_id && row.send_status === send_status;
}

/**
 * Whether a settlement that was refused was applied before. An event may have changed `updated_at` since; an erasure has
 * taken out what the provider said, and a dead row must not lose its letter for that.
 */
export function wasSettled(row: NotificationRow, claimed: NotificationRow, change: RowChange): boolean {
  const { updated_at: _, ...settled } = change.set;
  const erased: readonly string[] = row.erased_at === undefined ? [] : TOLD_COLUMNS;
  const set = Object.fromEntries(Object.entries(settled).filter(([name]) => !erased.includes(name)));
  return row.last_attempt === claimed.last_attempt && shows(row, { ...change, set });
}

/** Whether two stored values (text, number, boolean, list, map) are the same. */
function isSameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size && left.every(([name, value]) => right.has(name) && isSameValue(value, right.get(name)))
  );
}

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=' | 'begins_with';

/**
 * The condition of a write, as data: DynamoDB's stores render it, their twins evaluate it. All of it has to hold. A column
 * that equals `undefined` is absent or NULL, as for a writer that sets every column it knows. A dot leads into a map.
 */
export type Guard = readonly (readonly [column: string, is: Comparison | `absent or ${Comparison}`, value: unknown])[];

/** Columns that say how far a row has come. Each claim changes `last_attempt`, so a claim in between is noticed. */
export const STATE_COLUMNS = [
  'send_status',
  'last_attempt',
  'work_queue',
  'work_at',
] as const satisfies readonly (keyof NotificationRow)[];

/** The columns are as they were read. Reading a row that was never attempted supplies −1 for its `last_attempt`. */
export function asRead<C extends string>(row: Readonly<Partial<Record<C, unknown>>>, columns: readonly C[]): Guard {
  return columns.map((column) => [
    column,
    column === 'last_attempt' && row[column] === -1 ? 'absent or =' : '=',
    row[column],
  ]);
}

/** There is no item of this `log_id` yet. */
export const NEW: Guard = [['log_id', '=', undefined]];

/** The item is new, or of the version before: one of several writers at once wins. */
export function nextVersion(key: string, version: number): readonly Guard[] {
  return [[[key, '=', undefined]], [['version', '=', version - 1]]];
}

/** The item is as somebody looked at it; null: there was none. */
export const ofTime = (updated_at: string | null): Guard => [['updated_at', '=', updated_at ?? undefined]];

/** There is an item, which has this column. */
export const isThere = (column: string): Guard => [[column, '<>', undefined]];

/** For claims by a plan: also what the plan reads and others may write without a change of state. */
export const CLAIM_COLUMNS = [
  ...STATE_COLUMNS,
  'delivery_by_attempt',
  'give_up',
  'is_deleted',
] as const satisfies readonly (keyof NotificationRow)[];

/**
 * What a plan for a row depends on. Content that its writer puts into the row between the read and the claim stops the
 * claim: what is stored would go to the former recipient.
 */
export function asPlanned(row: NotificationRow): Guard {
  const read: Readonly<Record<string, unknown>> = { ...row };
  const absent = GIVEN_COLUMNS.filter((column) => (read[column] ?? null) === null);
  return [...asRead(read, CLAIM_COLUMNS), ...asRead({}, absent)];
}

/** A row that is due as its message says, that nobody sends, and that has an attempt left. */
export function claimable({ priority, due, channel, tenant_id }: QueueMessage): Guard {
  return [
    ['work_queue', 'begins_with', workQueuePrefix('due', priority)],
    ['work_at', '=', due],
    ['send_status', '<>', 'SENDING'],
    ['send_status', '<>', 'SUCCESS'],
    ['attempts_left', '>', 0],
    ['channel', '=', channel],
    ['tenant_id', '=', tenant_id],
  ];
}

/**
 * The claim that the row was read with is the latest one. Its number alone does not tell: a row that its writer puts anew
 * counts from the beginning. A send that its producer reports has no token.
 */
function underItsClaim({ last_attempt, claim_id }: NotificationRow): Guard {
  const claim: Guard = asRead({ send_status: 'SENDING', last_attempt }, ['send_status', 'last_attempt']);
  return claim_id === undefined ? claim : [...claim, ['claim_id', '=', claim_id]];
}

/**
 * The same for a settlement. What stops a notification leaves nothing that sends it again: that waits for no content which
 * its writer has put into the row since the claim. A condition on absent columns needs a request of its own, so a row that
 * keeps a letter does without.
 */
export function settledBy(row: NotificationRow, { set, remove = [] }: RowChange): Guard {
  const stops = set.failure_reason !== undefined && set.failure_reason !== 'CANCELLED' && remove.includes('work_queue');
  return stops ? [...underItsClaim(row), ...asRead<string>({ ...row }, GIVEN_COLUMNS)] : underItsClaim(row);
}
