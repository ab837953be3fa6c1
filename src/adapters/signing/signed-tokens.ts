import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { RecipientPlace } from '../../core/newsletter/events/unsubscribe.ts';

/** The keys of a secret that signs. Each is derived for one use: no signature of another use is valid in its place. */
export interface KeyRing {
  /** Id of the key that signs. */
  readonly current: string;
  /** Keys that sign, or signed, by id: 1 to 10 of a-z and 0-9. */
  readonly keys: ReadonlyMap<string, KeyObject>;
}

const ringShape = v.object({
  current: v.string(),
  keys: v.record(v.pipe(v.string(), v.regex(/^[a-z0-9]{1,10}$/)), v.pipe(v.string(), v.minLength(32))),
});
/** Id of the only key of a secret that holds nothing else. */
const ONLY = '0';

/**
 * Reads secrets that are one key as text, or `{"current":"b","keys":{"a":"…","b":"…"}}`: `b` signs, and what `a` signed
 * stays valid. It remembers the last secret, because deriving its keys costs as much as a signature.
 * @param use what the keys sign, such as `unsubscribe links`; part of the derivation
 * @returns a function that throws an Error for a malformed ring, and quotes nothing of it
 */
export function createKeyRings(use: string): (secret: string) => KeyRing {
  let last: { readonly secret: string; readonly ring: KeyRing } | undefined;
  return (secret) => {
    if (last?.secret !== secret) last = { secret, ring: readRing(secret, use) };
    return last.ring;
  };
}

/** @throws Error if `current` names none of the keys */
export function signingKey({ current, keys }: KeyRing, use: string): KeyObject {
  const key = keys.get(current);
  if (key === undefined) throw new Error(`The secret of ${use} has no key that \`current\` names.`);
  return key;
}

function readRing(secret: string, use: string): KeyRing {
  // As a KeyObject, because Node takes ten times as long for each signature with the bytes of a key.
  const derived = (key: string) => createSecretKey(createHmac('sha256', key).update(use).digest());
  if (!secret.trimStart().startsWith('{')) return { current: ONLY, keys: new Map([[ONLY, derived(secret)]]) };
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ringShape), secret);
  if (!parsed.success) throw new Error(`The secret of ${use} must be one key, or {"current":ID,"keys":{ID:KEY}}.`);
  const { current, keys } = parsed.output;
  return { current, keys: new Map(Object.entries(keys).map(([id, key]) => [id, derived(key)])) };
}

/** Long enough that nobody finds a valid one by trying. */
const MAC_CHARACTERS = 22;
const MAC = `[\\w-]{${MAC_CHARACTERS}}`;
const TOKEN = new RegExp(
  String.raw`^(([\w-]{1,64})\.([\w-]{1,20})\.(\d{1,6})\.(\d{1,3})(?:\.([\w-]{22}))?\.([a-z0-9]{1,10}))\.(${MAC})`,
);
const MAIL_TOKEN = new RegExp(String.raw`^(([\w-]{1,64})\.([a-z0-9]{1,10}))\.(${MAC})`);

const USE = 'unsubscribe links';
const ringOf = createKeyRings(USE);

/**
 * The signed token of a recipient's unsubscribe link (RFC 8058): the recipient's place in its mailing, and the keyed hash
 * of the address, because the address itself is not kept as long as the link is valid. It says nothing of whom.
 * @param secret one key as text; or `{"current":"b","keys":{"a":"…","b":"…"}}`: `b` signs, and links of `a` stay valid
 */
export function unsubscribeToken(secret: string, { email_id, batch_id, chunk, n, email_hash }: RecipientPlace): string {
  const ring = ringOf(secret);
  const parts = [email_id, batch_id, chunk, n, ...(email_hash === undefined ? [] : [email_hash]), ring.current];
  const place = parts.join('.');
  return `${place}.${macOf(signingKey(ring, USE), place)}`;
}

/**
 * Undefined for every text that does not begin with one that `unsubscribeToken` made with a key of the secret. What no
 * token has is left out: mail programs take a bracket, a dot, a slash or the letters behind a link along.
 */
export function readUnsubscribeToken(secret: string, token: string): RecipientPlace | undefined {
  // Without a hash in mails that were sent before recipients expired earlier than links.
  const [, place, email_id, batch_id, chunk, n, email_hash, id, mac] = TOKEN.exec(token) ?? [];
  const key = ringOf(secret).keys.get(id ?? '');
  if (place === undefined || email_id === undefined || batch_id === undefined || mac === undefined) return undefined;
  if (key === undefined || !timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, place)))) return undefined;
  return { email_id, batch_id, chunk: Number(chunk), n: Number(n), ...(email_hash !== undefined && { email_hash }) };
}

const MAIL_USE = 'pages of mails';
const mailRingOf = createKeyRings(MAIL_USE);

/** The signed token of a mailing's page, as everybody may see it: it unsubscribes nobody. */
export function mailToken(secret: string, email_id: string): string {
  const ring = mailRingOf(secret);
  const mail = `${email_id}.${ring.current}`;
  return `${mail}.${macOf(signingKey(ring, MAIL_USE), mail)}`;
}

/** The mailing whose token a text begins with. */
export function readMailToken(secret: string, token: string): string | undefined {
  const [, mail, email_id, id, mac] = MAIL_TOKEN.exec(token) ?? [];
  const key = mailRingOf(secret).keys.get(id ?? '');
  if (mail === undefined || key === undefined || mac === undefined) return undefined;
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, mail))) ? email_id : undefined;
}

function macOf(key: KeyObject, place: string): string {
  return createHmac('sha256', key).update(place).digest('base64url').slice(0, MAC_CHARACTERS);
}
