import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { RecipientPlace } from '../../core/newsletter/events/unsubscribe.ts';

/** Long enough that nobody finds a valid one by trying. */
const MAC_CHARACTERS = 22;

interface KeyRing {
  readonly current: string;
  /** Keys that sign, or signed, by id. */
  readonly keys: ReadonlyMap<string, KeyObject>;
}

const ringShape = v.object({
  current: v.string(),
  keys: v.record(v.pipe(v.string(), v.regex(/^[a-z0-9]{1,10}$/)), v.pipe(v.string(), v.minLength(32))),
});
/** Id of the only key of a secret that holds nothing else. */
const ONLY = '0';

/** The last secret and its keys: deriving them for each link would cost as much as the signature. */
let last: { readonly secret: string; readonly ring: KeyRing } | undefined;

/**
 * The signed token of a recipient's unsubscribe link (RFC 8058). It says where the recipient is stored, and nothing of whom.
 * @param secret one key as text; or `{"current":"b","keys":{"a":"…","b":"…"}}`: `b` signs, and links of `a` stay valid
 */
export function unsubscribeToken(secret: string, { email_id, batch_id, chunk, n }: RecipientPlace): string {
  const { current, keys } = ringOf(secret);
  const key = keys.get(current);
  if (key === undefined) throw new Error('The secret of unsubscribe links has no key that `current` names.');
  const place = `${email_id}.${batch_id}.${chunk}.${n}.${current}`;
  return `${place}.${macOf(key, place)}`;
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

function ringOf(secret: string): KeyRing {
  if (last?.secret !== secret) last = { secret, ring: readRing(secret) };
  return last.ring;
}

/** @throws Error for a key ring that is malformed; it quotes nothing of it */
function readRing(secret: string): KeyRing {
  if (!secret.trimStart().startsWith('{')) return { current: ONLY, keys: new Map([[ONLY, derived(secret)]]) };
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ringShape), secret);
  if (!parsed.success) {
    throw new Error('The secret of unsubscribe links must be one key, or {"current":ID,"keys":{ID:KEY}}.');
  }
  const { current, keys } = parsed.output;
  return { current, keys: new Map(Object.entries(keys).map(([id, key]) => [id, derived(key)])) };
}

/** A key of its own, derived from the stage's: no hash of an address is a valid signature. */
function derived(key: string): KeyObject {
  // As a KeyObject, because Node takes ten times as long for each signature with the bytes of a key.
  return createSecretKey(createHmac('sha256', key).update('unsubscribe links').digest());
}

function macOf(key: KeyObject, place: string): string {
  return createHmac('sha256', key).update(place).digest('base64url').slice(0, MAC_CHARACTERS);
}
