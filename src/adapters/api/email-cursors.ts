import type { RecipientPlace } from '../../core/newsletter/views/list-recipients.ts';
import { invalid } from '../../http/check.ts';

/** Cursors of lists: the place at which the next page begins, in a form that callers pass on as it is. */

const EMAIL_PLACE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [\w-]{1,50}$/;
const BATCH_PLACE = /^\d{5}$/;
const RECIPIENT_PLACE = /^(\d{5}|excluded) (\d{1,6})$/;

export function toCursor(place: string | undefined): string | null {
  return place === undefined ? null : Buffer.from(place).toString('base64url');
}

/** @throws Problem */
export function emailCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : read(cursor, EMAIL_PLACE)[0];
}

/** @throws Problem */
export function batchCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : read(cursor, BATCH_PLACE)[0];
}

export function recipientPlace(place: RecipientPlace | undefined): string | undefined {
  return place && `${place.batch_id} ${place.chunk}`;
}

/** @throws Problem */
export function recipientCursor(cursor: string | undefined): RecipientPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, batch_id = '', chunk = ''] = read(cursor, RECIPIENT_PLACE);
  return { batch_id, chunk: Number(chunk) };
}

function read(cursor: string, form: RegExp): RegExpExecArray {
  const found = form.exec(Buffer.from(cursor, 'base64url').toString());
  if (found !== null) return found;
  throw invalid([
    { path: 'cursor', rule: 'cursor', message: 'must be next_cursor of an earlier page of the same list' },
  ]);
}
