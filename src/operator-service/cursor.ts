import * as v from 'valibot';
import { invalid } from '../http/check.ts';

/** A cursor is the place where a page ended, in a form that pages pass on as it is. */
export function toCursor(place: object | undefined): string | null {
  return place === undefined ? null : Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** @throws Problem for a cursor that the list did not make */
export function fromCursor<S extends v.GenericSchema>(
  schema: S,
  cursor: string | undefined,
): v.InferOutput<S> | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
  if (parsed.success) return parsed.output;
  throw badCursor();
}

export function badCursor() {
  const message = 'is not a cursor of this list: use next_cursor of its answer with the same filters, or omit it';
  return invalid([{ path: 'cursor', rule: 'cursor', message }]);
}
