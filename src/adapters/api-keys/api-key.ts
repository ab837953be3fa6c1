import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a key may do: hand notifications over, look at them, have them retried. */
export const SCOPES = ['send', 'read', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

/** A row of ApiKeys. The secret itself is nowhere: only whoever was given it has it. */
export interface ApiKey {
  readonly key_id: string;
  readonly tenant_id: string;
  readonly scopes: readonly Scope[];
  /** SHA-256, base64url. The secret has 256 random bits, so that no slower hash is needed. */
  readonly secret_hash: string;
  /** ISO-8601 UTC with milliseconds, like the following. */
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  /** Requests a second. */
  readonly rate_limit?: number;
  readonly description?: string;
}

/** Requests a second of a key that was created without a limit of its own. */
export const DEFAULT_RATE_LIMIT = 100;

/** A new key's id, its whole text, which is shown once, and what is stored of it. */
export function newApiKey(): { readonly key_id: string; readonly key: string; readonly secret_hash: string } {
  const key_id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  return { key_id, key: `nrk_${key_id}_${secret}`, secret_hash: hashOf(secret) };
}

/** The parts of `Bearer nrk_<key_id>_<secret>`; undefined when it is not of this form. */
export function parseAuthorization(
  header: string | undefined,
): { readonly key_id: string; readonly secret: string } | undefined {
  const [, key_id, secret] = /^[Bb]earer +nrk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/.exec(header ?? '') ?? [];
  return key_id === undefined || secret === undefined ? undefined : { key_id, secret };
}

/** Stands in for a key that does not exist, so that looking takes as long. */
const NOBODY = createHash('sha256').update('nobody').digest('base64url');

/** Whether the secret is the key's, in a time that tells nothing, and the key is good now. */
export function isValid(key: ApiKey | undefined, secret: string, now: Date): key is ApiKey {
  const same = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(key?.secret_hash ?? NOBODY));
  if (key === undefined || !same || key.revoked_at !== undefined) return false;
  return key.expires_at === undefined || Date.parse(key.expires_at) > now.getTime();
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
