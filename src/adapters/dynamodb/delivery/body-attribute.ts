import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Item } from '../table/item.ts';

/** Most bytes of a body that is stored as text, which people can read. It still fits into one read unit. */
const PLAIN_BYTES = 2_048;

/** No stored body is larger: an item of DynamoDB has at most 400 KB, and each body came from an item. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The attribute that holds a body: `message_body` as text, or `message_body_deflated` (RFC 1951). DynamoDB charges by
 * the kilobyte, and deflated text has a third of its size or less.
 */
export function bodyAttribute(body: string): Item {
  const bytes = Buffer.from(body);
  if (bytes.length <= PLAIN_BYTES) return { message_body: { S: body } };
  return { message_body_deflated: { B: deflateRawSync(bytes) } };
}

/** The body of a stored item; undefined when the item has none. */
export function bodyOf(item: Item | undefined): string | undefined {
  const deflated = item?.['message_body_deflated']?.B;
  if (deflated === undefined) return item?.['message_body']?.S;
  return inflateRawSync(deflated, { maxOutputLength: MAX_BODY_BYTES }).toString();
}
