import { createHash, createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { createKeyRings, signingKey } from '../signing/key-ring.ts';
import type { Scope } from './api-key.ts';

/** What a page may do with its token: hand over notifications, or see and retry these and no others. */
export type PageRights = SendRights | { readonly log_ids: readonly string[] };

/** Absent: to any channel or recipient. */
interface SendRights {
  readonly send: true;
  readonly channel?: Channel | undefined;
  /** A hash with the token's id, so that no address is in a token. */
  readonly recipient?: string | undefined;
}

export function hashInToken(token_id: string, recipient: string): string {
  return createHash('sha256')
    .update(JSON.stringify([token_id, recipient]))
    .digest('base64url');
}

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
export const MAX_TOKEN_LOG_IDS = 50;

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
  /** Channel and recipient of the right to send. */
  c: v.exactOptional(v.picklist(CHANNELS)),
  r: v.exactOptional(v.pipe(v.string(), v.length(43))),
});

/** The scopes that a key must have so that a token of it may have these rights. */
export function scopesFor(rights: PageRights): readonly Scope[] {
  return 'send' in rights ? ['send'] : ['read', 'operate'];
}

export const newTokenId = (): string => randomBytes(6).toString('base64url');

/** `nrt_<payload>.<id of the key>.<HMAC-SHA256>`; stored nowhere. @param secret one key, or a ring (key-ring.ts) */
export function signPageToken(
  secret: string,
  { key_id, expires_at, rights }: Omit<PageToken, 'token_id'>,
  token_id: string = newTokenId(),
): string {
  const ring = ringOf(secret);
  const payload: v.InferInput<typeof payloadShape> = {
    i: token_id,
    k: key_id,
    e: Date.parse(expires_at),
    ...('log_ids' in rights
      ? { l: [...rights.log_ids] }
      : { ...(rights.channel && { c: rights.channel }), ...(rights.recipient && { r: rights.recipient }) }),
  };
  const signed = `nrt_${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${ring.current}`;
  return `${signed}.${macOf(signingKey(ring, USE), signed)}`;
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
  const { i: token_id, k: key_id, e, l, c, r } = parsed.output;
  const rights: PageRights =
    l === undefined ? { send: true, ...(c && { channel: c }), ...(r && { recipient: r }) } : { log_ids: l };
  return { token_id, key_id, expires_at: new Date(e).toISOString(), rights };
}

function macOf(key: KeyObject, signed: string): string {
  return createHmac('sha256', key).update(signed).digest('base64url');
}
