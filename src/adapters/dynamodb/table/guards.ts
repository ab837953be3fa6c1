import { isDeepStrictEqual } from 'node:util';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { NumberValueImpl } from '@aws-sdk/util-dynamodb';
import { CONTENT_COLUMNS, FALLBACK_COLUMNS, type NotificationRow } from '../../../core/model/notification.ts';
import type { QueueMessage } from '../../../core/model/queue-message.ts';
import type { RowChange } from '../../../core/model/row-change.ts';
import { workQueuePrefix } from '../../../core/model/work-index.ts';
import type { Suppression } from '../../../core/newsletter/model/member.ts';

type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=' | 'begins_with';

/**
 * The condition of a write, as data: DynamoDB's stores render it, their twins evaluate it. All of it has to hold. A column
 * that equals `undefined` is absent or NULL, as for a writer that sets every column it knows. A dot leads into a map.
 */
export type Guard = readonly (readonly [column: string, is: Comparison | `absent or ${Comparison}`, value: unknown])[];

type Stored = Readonly<Record<string, unknown>>;

/** Columns that say how far a row has come. Each claim changes `last_attempt`, so a claim in between is noticed. */
export const STATE_COLUMNS = [
  'send_status',
  'last_attempt',
  'work_queue',
  'work_at',
] as const satisfies readonly (keyof NotificationRow)[];

/** For claims by a plan: also what the plan reads and others may write without a change of state. */
const CLAIM_COLUMNS = [
  ...STATE_COLUMNS,
  'delivery_by_attempt',
  'give_up',
  'is_deleted',
] as const satisfies readonly (keyof NotificationRow)[];

const CONTENT = [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS] as const;

/**
 * For delivery events: two of them can come at once, in one millisecond, and neither changes the row's state. What its
 * writer has put into a delivered row is taken in without a change of it, too.
 */
export const EVENT_COLUMNS = [...CLAIM_COLUMNS, 'updated_at', 'next_life'] as const;

/** For an erasure: what its writer puts into the row between the read and the write is another recipient's. */
export const ERASED_COLUMNS = [...STATE_COLUMNS, ...CONTENT] as const;

/** Columns that may change after the image was taken, by the row's writer or us; indexing must not overwrite that. */
export const IMAGE_COLUMNS = [
  'send_status',
  'is_deleted',
  'created_at',
  'created_by',
  'tenant_id',
  'notification_type',
  'channel',
  'priority',
  'priority_level',
  'send_attempts',
  'retry_count',
  'max_retry_count',
  'next_retry_at',
  'recipient_address',
  'subject',
  'message_body',
  'message_format',
  'fallback_channel',
  'fallback_recipient',
  'fallback_integration_config_id',
  'response_message',
  'error_details',
  'failure_reason',
  'give_up',
  'last_attempt',
  'work_queue',
  'work_at',
] as const;

/** The columns are as they were read. Reading a row that was never attempted supplies −1 for its `last_attempt`. */
export function asRead<C extends string>(row: Readonly<Partial<Record<C, unknown>>>, columns: readonly C[]): Guard {
  return columns.map((column) => [
    column,
    column === 'last_attempt' && row[column] === -1 ? 'absent or =' : '=',
    row[column],
  ]);
}

/** The same of a row, and what events have shown: while it is sent, and later ones, that is noted without a change of its state. */
export function asFound(row: NotificationRow, columns: readonly string[]): Guard {
  const shown = row.send_status === 'SENDING' || row.delivery_by_attempt !== undefined;
  const more = shown && !columns.includes('delivery_by_attempt') ? ['delivery_by_attempt'] : [];
  return asRead<string>({ ...row }, [...columns, ...more]);
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
 * What a plan for a row depends on. Content that its writer puts into the row between the read and the claim stops the
 * claim: what is stored would go to the former recipient.
 */
export function asPlanned(row: NotificationRow): Guard {
  const read: Stored = { ...row };
  const absent = CONTENT.filter((column) => (read[column] ?? null) === null);
  return [...asRead(read, CLAIM_COLUMNS), ...asRead({}, absent)];
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
  return stops ? [...underItsClaim(row), ...asRead<string>({ ...row }, CONTENT)] : underItsClaim(row);
}

/** There is no item of this `log_id` yet. */
export const NEW: Guard = [['log_id', '=', undefined]];

/** There is none, or it has expired: DynamoDB may take days to delete it. */
export function isFree(now: Date): readonly Guard[] {
  return [NEW, [['expires_at', '<', Math.floor(now.getTime() / 1000)]]];
}

/** The request of an idempotency key that holds its content is the one that was read. */
export function ofGeneration(log_id: string, latest: number): Guard {
  return [
    ['log_id', '=', log_id],
    ['latest_generation', '=', latest === 0 ? undefined : latest],
  ];
}

/** The item is new, or of the version before: one of several writers at once wins. */
export function nextVersion(key: string, version: number): readonly Guard[] {
  return [[[key, '=', undefined]], [['version', '=', version - 1]]];
}

/** The item has the version that it was read with; 0: there was none. */
export function ofVersion({ version }: { readonly version: number }): Guard {
  return [['version', '=', version === 0 ? undefined : version]];
}

/** The item is as somebody looked at it; null: there was none. */
export const ofTime = (updated_at: string | null): Guard => [['updated_at', '=', updated_at ?? undefined]];

/** There is an item, which has this column. */
export const isThere = (column: string): Guard => [[column, '<>', undefined]];

/** No later version of the member is there, nor its mark. */
export const notNewer = (version: number): Guard => [['version', 'absent or <=', version]];

/**
 * The first suppression of an address stays, but for a bounce: it does not move along with the person to another address,
 * as a complaint and an operator's decision do.
 */
export function suppressible(reason: Suppression['reason']): readonly Guard[] {
  const isFirst: Guard = [['suppressed', '=', undefined]];
  return reason === 'bounced' ? [isFirst] : [isFirst, [['suppressed.reason', '=', 'bounced']]];
}

/** A key that may end then: an expiry only ever comes nearer, or a key that has expired would live again. */
export function mayEnd(expires_at: string | undefined): Guard {
  const isLive: Guard = [...isThere('key_id'), ['revoked_at', '=', undefined]];
  return expires_at === undefined ? isLive : [...isLive, ['expires_at', 'absent or >=', expires_at]];
}

/** DynamoDB's numbers have up to 38 digits, sequence numbers of a stream up to 40: these are texts of one length. */
const NUMBER_DIGITS = 38;
const SEQUENCE_DIGITS = 40;

export function sequenceValue(sequence: string): unknown {
  return sequence.length > NUMBER_DIGITS ? sequence.padStart(SEQUENCE_DIGITS, '0') : NumberValueImpl.from(sequence);
}

/** As `sequenceValue` stored it; content that no image of the stream brought is older than any. */
export function storedSequence({ image_sequence }: Readonly<Record<string, AttributeValue>> = {}): string {
  return image_sequence?.N ?? image_sequence?.S?.replace(/^0+/, '') ?? '0';
}

/**
 * Neither content of a later image or life is stored, nor an erased one. A text stands for a larger number than any that
 * is stored as one.
 */
export function notLater(sequence: string, life?: number): readonly Guard[] {
  const value = sequenceValue(sequence);
  const kept: Guard = [
    ['erased_at', '=', undefined],
    life === undefined ? ['life', '=', undefined] : ['life', 'absent or <=', life],
  ];
  const guard: Guard = [['image_sequence', 'absent or <=', value], ...kept];
  if (typeof value !== 'string') return [guard];
  return [guard, [['image_sequence', '<=', NumberValueImpl.from('9'.repeat(NUMBER_DIGITS))], ...kept]];
}

/** Whether a stored item, or nothing, is as the guard has it. */
export function holds(guard: Guard, stored: Stored = {}): boolean {
  return guard.every(([column, is, value]) => {
    const found = column.includes('.') ? foundIn(stored, column) : stored[column];
    if (is.startsWith('absent or ') && found === undefined) return true;
    return COMPARE[is.replace('absent or ', '') as Comparison](found, value);
  });
}

function foundIn(stored: Stored, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as Stored | undefined)?.[name], stored);
}

export function isAny(guards: readonly Guard[], stored: Stored | undefined): boolean {
  return guards.some((guard) => holds(guard, stored));
}

const COMPARE: Readonly<Record<Comparison, (found: unknown, value: unknown) => boolean>> = {
  '=': (found, value) => isDeepStrictEqual(found, value) || (value === undefined && found === null),
  '<>': (found, value) => !COMPARE['='](found, value),
  '<': (found, value) => order(found, value) < 0,
  '<=': (found, value) => order(found, value) <= 0,
  '>': (found, value) => order(found, value) > 0,
  '>=': (found, value) => order(found, value) >= 0,
  begins_with: (found, value) => typeof found === 'string' && found.startsWith(String(value)),
};

/** NaN for values of two types, which DynamoDB does not compare. */
function order(found: unknown, value: unknown): number {
  if (typeof found === 'string' && typeof value === 'string') return found < value ? -1 : Number(found > value);
  const [a, b] = [found, value].map((one) => (one instanceof NumberValueImpl ? BigInt(String(one)) : one));
  const isNumber = (one: unknown) => typeof one === 'number' || typeof one === 'bigint';
  return isNumber(a) && isNumber(b) ? Number(a > b) - Number(a < b) : Number.NaN;
}
