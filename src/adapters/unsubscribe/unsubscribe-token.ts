import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChunkKey } from '../../core/newsletter/model/chunk.ts';

/** A recipient of an email: its place in a chunk. */
export type RecipientPlace = ChunkKey & { readonly n: number };

/** Long enough that nobody finds a valid one by trying. */
const MAC_CHARACTERS = 22;

/** The signed token of a recipient's unsubscribe link (RFC 8058). It says where the recipient is stored, and nothing of whom. */
export function unsubscribeToken(key: string, { email_id, batch_id, chunk, n }: RecipientPlace): string {
  const place = [email_id, batch_id, chunk, n].join('.');
  return `${place}.${macOf(key, place)}`;
}

/** Undefined for every text that was not made by `unsubscribeToken` with this key. */
export function readUnsubscribeToken(key: string, token: string): RecipientPlace | undefined {
  const [, place, email_id, batch_id, chunk, n, mac] =
    /^(([\w-]{1,64})\.([\w-]{1,20})\.(\d{1,6})\.(\d{1,3}))\.([\w-]+)$/.exec(token) ?? [];
  if (place === undefined || email_id === undefined || batch_id === undefined || mac?.length !== MAC_CHARACTERS) {
    return undefined;
  }
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, place)))) return undefined;
  return { email_id, batch_id, chunk: Number(chunk), n: Number(n) };
}

/** A key of its own, derived from the stage's: no hash of an address is a valid signature. */
function macOf(key: string, place: string): string {
  const own = createHmac('sha256', key).update('unsubscribe links').digest();
  return createHmac('sha256', own).update(place).digest('base64url').slice(0, MAC_CHARACTERS);
}
