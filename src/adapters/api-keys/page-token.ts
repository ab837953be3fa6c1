import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { Scope } from '../../core/intake/api-scopes.ts';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { createKeyRings, signingKey } from '../signing/signed-tokens.ts';

/** What a page may do with its token: hand over notifications, or see and retry these and no others. */
export type PageRights = SendRights<TokenRecipient> | LogIdRights;
/** As a producer's server asks for them: the recipient in the clear. */
export type AskedRights = SendRights<string> | LogIdRights;

interface LogIdRights {
  readonly log_ids: readonly string[];
}

/** The only channel, recipient and integration of what is sent. One that is absent: any, if all are. */
interface SendRights<R> {
  readonly send: true;
  readonly channel?: Channel | undefined;
  readonly recipient?: R | undefined;
  readonly integration_config_id?: string | undefined;
}

/** What of a recipient is in a token, and the key of this hash, which only functions of the stage see. */
interface TokenRecipient {
  readonly hash: string;
  readonly key: string;
}

export function isRecipientOf({ hash, key }: TokenRecipient, recipient: string): boolean {
  return hashInToken(key, recipient) === hash;
}

/** Keyed, so that whoever has the token cannot find the recipient by trying addresses. */
const hashInToken = (key: string, recipient: string): string =>
  createHmac('sha256', key).update(recipient).digest('base64url').slice(0, 22);

/** What signs begins with `nrt_`, so that no signature is such a key. */
const recipientKeyOf = (key: KeyObject, token_id: string): string =>
  createHmac('sha256', key).update(`recipient ${token_id}`).digest('base64url');

/** What the signature of a token covers. The tenant is that of the key, which the authorizer reads. */
export interface PageToken {
  /** Distinguishes tokens in the log and in limits. */
  readonly token_id: string;
  /** The API key that the token is of, and with which it ends. */
  readonly key_id: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly expires_at: string;
  readonly rights: PageRights;
}

/** API Gateway takes 10,240 bytes of headers, those of the browser included. */
export const MAX_TOKEN_CHARACTERS = 4_096;

const USE = 'page tokens';
const ringOf = createKeyRings(USE);

const logIds = v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.minLength(1));
/** The names are short, because every request carries the token. */
const payloadShape = v.strictObject({
  i: v.pipe(v.string(), v.minLength(1)),
  k: v.pipe(v.string(), v.minLength(1)),
  /** Milliseconds since the epoch. */
  e: v.pipe(v.number(), v.integer(), v.maxValue(8.64e15)),
  /** Absent: the right to send. */
  l: v.exactOptional(logIds),
  /** Channel, recipient and integration of the right to send. */
  c: v.exactOptional(v.picklist(CHANNELS)),
  r: v.exactOptional(v.pipe(v.string(), v.length(22))),
  g: v.exactOptional(v.pipe(v.string(), v.minLength(1))),
});

/** The scopes that a key must have so that a token of it may have these rights. */
export function scopesFor(rights: PageRights | AskedRights): readonly Scope[] {
  return 'send' in rights ? ['send'] : ['read', 'operate'];
}

/** `nrt_<payload>.<id of the key>.<HMAC-SHA256>`; stored nowhere. @param secret one key, or a ring (signed-tokens.ts) */
export function signPageToken(
  secret: string,
  { key_id, expires_at, rights }: Pick<PageToken, 'key_id' | 'expires_at'> & { readonly rights: AskedRights },
  token_id: string = randomBytes(6).toString('base64url'),
): string {
  const ring = ringOf(secret);
  const key = signingKey(ring, USE);
  const payload: v.InferInput<typeof payloadShape> = {
    i: token_id,
    k: key_id,
    e: Date.parse(expires_at),
    ...('log_ids' in rights
      ? { l: [...rights.log_ids] }
      : {
          ...(rights.channel && { c: rights.channel }),
          ...(rights.recipient && { r: hashInToken(recipientKeyOf(key, token_id), rights.recipient) }),
          ...(rights.integration_config_id && { g: rights.integration_config_id }),
        }),
  };
  const signed = `nrt_${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${ring.current}`;
  return `${signed}.${macOf(key, signed)}`;
}

/** The token of `Bearer nrt_…`; undefined for a header of another form, such as one with an API key. */
export function parseTokenHeader(header: string | undefined): string | undefined {
  return /^bearer +(nrt_[\w.-]+)$/i.exec(header ?? '')?.[1];
}

/** Undefined for every text that `signPageToken` did not make with a key of the secret. It may have expired. */
export function readPageToken(secret: string, token: string): PageToken | undefined {
  if (token.length > MAX_TOKEN_CHARACTERS) return undefined;
  const [, signed, payload, id, mac] = /^(nrt_([\w-]+)\.([a-z0-9]{1,10}))\.([\w-]{43})$/.exec(token) ?? [];
  const key = ringOf(secret).keys.get(id ?? '');
  if (signed === undefined || payload === undefined || mac === undefined || key === undefined) return undefined;
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, signed)))) return undefined;
  const parsed = v.safeParse(
    v.pipe(v.string(), v.parseJson(), payloadShape),
    Buffer.from(payload, 'base64url').toString(),
  );
  if (!parsed.success) return undefined;
  const { i: token_id, k: key_id, e, l, c, r: hash, g } = parsed.output;
  const rights: PageRights =
    l === undefined
      ? {
          send: true,
          ...(c && { channel: c }),
          ...(hash && { recipient: { hash, key: recipientKeyOf(key, token_id) } }),
          ...(g && { integration_config_id: g }),
        }
      : { log_ids: l };
  return { token_id, key_id, expires_at: new Date(e).toISOString(), rights };
}

function macOf(key: KeyObject, signed: string): string {
  return createHmac('sha256', key).update(signed).digest('base64url');
}
