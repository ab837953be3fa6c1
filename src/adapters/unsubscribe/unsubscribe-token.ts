import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { RecipientPlace } from '../../core/newsletter/events/unsubscribe.ts';
import { createKeyRings, signingKey } from '../signing/key-ring.ts';

/** Long enough that nobody finds a valid one by trying. */
const MAC_CHARACTERS = 22;

const USE = 'unsubscribe links';
const ringOf = createKeyRings(USE);

/**
 * The signed token of a recipient's unsubscribe link (RFC 8058). It says where the recipient is stored, and nothing of whom.
 * @param secret one key as text; or `{"current":"b","keys":{"a":"…","b":"…"}}`: `b` signs, and links of `a` stay valid
 */
export function unsubscribeToken(secret: string, { email_id, batch_id, chunk, n }: RecipientPlace): string {
  const ring = ringOf(secret);
  const place = `${email_id}.${batch_id}.${chunk}.${n}.${ring.current}`;
  return `${place}.${macOf(signingKey(ring, USE), place)}`;
}

/** Undefined for every text that was not made by `unsubscribeToken` with a key of the secret. */
export function readUnsubscribeToken(secret: string, token: string): RecipientPlace | undefined {
  const [, place, email_id, batch_id, chunk, n, id, mac] =
    /^(([\w-]{1,64})\.([\w-]{1,20})\.(\d{1,6})\.(\d{1,3})\.([a-z0-9]{1,10}))\.([\w-]+)$/.exec(token) ?? [];
  const key = ringOf(secret).keys.get(id ?? '');
  if (place === undefined || email_id === undefined || batch_id === undefined || mac?.length !== MAC_CHARACTERS) {
    return undefined;
  }
  if (key === undefined || !timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, place)))) return undefined;
  return { email_id, batch_id, chunk: Number(chunk), n: Number(n) };
}

function macOf(key: KeyObject, place: string): string {
  return createHmac('sha256', key).update(place).digest('base64url').slice(0, MAC_CHARACTERS);
}
