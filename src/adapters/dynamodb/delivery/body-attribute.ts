import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Item } from '../table/item.ts';

/** Bytes up to which a body is kept as text, for people to read: it fits into one read unit as it is. */
const PLAIN_BYTES = 2_048;

/** Nothing that was stored can be larger: DynamoDB's items end at 400 KB, and a row's body came out of one. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The attribute that holds a body: `message_body` as text, or `message_body_deflated` (RFC 1951), because DynamoDB
 * charges by the kilobyte and text shrinks to a third or less.
 */
export function bodyAttribute(body: string): Item {
  const bytes = Buffer.from(body);
  if (bytes.length <= PLAIN_BYTES) return { message_body: { S: body } };
  return { message_body_deflated: { B: deflateRawSync(bytes) } };
}

/** The body of a stored item; undefined when it has none. */
export function bodyOf(item: Item | undefined): string | undefined {
  const deflated = item?.['message_body_deflated']?.B;
  if (deflated === undefined) return item?.['message_body']?.S;
  return inflateRawSync(deflated, { maxOutputLength: MAX_BODY_BYTES }).toString();
}
