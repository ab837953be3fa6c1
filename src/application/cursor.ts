import * as v from 'valibot';
import type { ListPlace } from '../adapters/dynamodb/operator/merge-runs.ts';
import type { RecipientPlace } from '../core/newsletter/views/list-recipients.ts';
import { invalid } from '../http/check.ts';
import { moment, placePart } from './contract/fields.ts';

/** A cursor is the place where a page ended, in a form that callers pass on as it is. */
export function toCursor(place: object | string | undefined): string | null {
  if (place === undefined) return null;
  return Buffer.from(typeof place === 'string' ? place : JSON.stringify(place)).toString('base64url');
}

/**
 * The place that a cursor stands for.
 * @param schema of the place as text, or of an object by `placeOf`
 * @throws Problem for a cursor that the list did not make
 */
export function fromCursor<S extends v.GenericSchema<string, unknown>>(
  schema: S,
  cursor: string | undefined,
): v.InferOutput<S> | undefined {
  if (cursor === undefined) return undefined;
  const { success, output } = v.safeParse(schema, Buffer.from(cursor, 'base64url').toString());
  if (!success) throw badCursor();
  return output;
}

/** The lists of notifications: by creation, or per tenant where a day has too many of them; what is due; what is dead. */
const LIST_KINDS = ['created', 'by_tenant', 'unfinished', 'dead'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

/** A place in such a list, and its period, as a default period moves with the clock. */
export interface ListCursor {
  readonly kind: ListKind;
  readonly from: string;
  /** Only of a list that is not in the order of time. */
  readonly to?: string | undefined;
  readonly place: ListPlace;
}

/**
 * `<kind>.<from>[.<to>].<time>.<shard>[.<tenant>].<log_id>`, times in milliseconds to the base of 36: short, and nothing in it
 * has a meaning to a URL or a shell. With ids of other characters it is base64url.
 */
export function toListCursor({ kind, from, to, place: { time, run, log_id } }: ListCursor): string {
  const [shard = '', ...tenant] = run.split('.');
  const times = [from, ...(to === undefined ? [] : [to]), time];
  const parts = [kind.charAt(0), ...times.map(shortTime), shard, ...tenant, log_id];
  const isPlain = tenant.length < 2 && parts.every((part) => /^[\w~-]+$/.test(part));
  return isPlain ? parts.join('.') : (toCursor([kind.charAt(0), ...times, run, log_id]) ?? '');
}

/** @throws Problem for a cursor that no such list made */
export function fromListCursor(cursor: string): ListCursor {
  const [kind = '', ...rest] = cursor.includes('.')
    ? cursor.split('.')
    : (fromCursor(placeOf(v.array(placePart)), cursor) ?? []);
  const known = LIST_KINDS.find((one) => one.charAt(0) === kind);
  const times = known === 'by_tenant' ? 3 : 2;
  const [from, ...last] = rest.slice(0, times).map(longTime);
  const place = { time: last.at(-1), run: rest.slice(times, -1).join('.'), log_id: rest.at(-1) };
  const parsed = v.safeParse(listPlace, { kind: known, from, ...(times === 3 && { to: last[0] }), place });
  if (!parsed.success) throw badCursor();
  return parsed.output;
}

const listPlace = v.strictObject({
  kind: v.picklist(LIST_KINDS),
  from: moment,
  to: v.optional(moment),
  place: v.strictObject({ time: placePart, run: placePart, log_id: placePart }),
});

/** Empty for a text of another writer that is no time as we write it. */
function shortTime(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) || new Date(ms).toISOString() !== time ? '' : ms.toString(36);
}

/** A text that is none is one of another writer. */
function longTime(text: string): string {
  const at = new Date(/^-?[0-9a-z]{1,10}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

export const placeOf = <S extends v.GenericSchema>(schema: S) => v.pipe(v.string(), v.parseJson(), schema);

export function badCursor() {
  const message = 'is not a cursor of this list: use next_cursor of its answer with the same filters, or omit it';
  return invalid([{ path: 'cursor', rule: 'cursor', message }]);
}

export const emailPlace = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [\w-]{1,50}$/));
/** Behind an address, or behind one of more members than a page has. */
export const addressPlace = v.pipe(
  v.string(),
  v.regex(/^[\w-]{1,100}( .{1,100})?$/s),
  v.transform((text) => {
    const [email_hash = '', ...member_id] = text.split(' ');
    return { email_hash, ...(member_id.length > 0 && { member_id: member_id.join(' ') }) };
  }),
);
export const batchPlace = v.pipe(v.string(), v.regex(/^\d{5}$/));
export const recipientPlace = v.pipe(
  v.string(),
  v.regex(/^(\d{5}|excluded) (\d{1,6})$/),
  v.transform((text): RecipientPlace => {
    const [batch_id = '', chunk = ''] = text.split(' ');
    return { batch_id, chunk: Number(chunk) };
  }),
);

export function recipientCursor(place: RecipientPlace | undefined): string | null {
  return toCursor(place && `${place.batch_id} ${place.chunk}`);
}
