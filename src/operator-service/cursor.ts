import * as v from 'valibot';
import type { RecipientPlace } from '../core/newsletter/views/list-recipients.ts';
import { invalid } from '../http/check.ts';

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

/** The schema of a cursor whose place is an object. */
export function placeOf<S extends v.GenericSchema>(schema: S) {
  return v.pipe(v.string(), v.parseJson(), schema);
}

export function badCursor() {
  const message = 'is not a cursor of this list: use next_cursor of its answer with the same filters, or omit it';
  return invalid([{ path: 'cursor', rule: 'cursor', message }]);
}

export const emailPlace = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [\w-]{1,50}$/));
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
