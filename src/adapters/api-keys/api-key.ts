import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Scope } from '../../core/intake/api-scopes.ts';
import { type Guard, isThere } from '../../core/model/row-change.ts';
import { type Item, toItem } from '../dynamodb/table/item.ts';
import { getItem, scan } from '../dynamodb/table/reads.ts';
import { putGuarded, updateItem } from '../dynamodb/table/writes.ts';

/** The guard of a new end: an expiry only comes nearer, as a later one would revive a key that has expired. */
function mayEnd(expires_at: string | undefined): Guard {
  const unrevoked: Guard = [...isThere('key_id'), ['revoked_at', '=', undefined]];
  return expires_at === undefined ? unrevoked : [...unrevoked, ['expires_at', 'absent or >=', expires_at]];
}

/** A row of ApiKeys. The secret itself is not stored: only the receiver of the key has it. */
export interface ApiKey {
  readonly key_id: string;
  readonly tenant_id: string;
  readonly scopes: readonly Scope[];
  /** SHA-256, base64url. The secret has 256 random bits, so a slower hash is not needed. */
  readonly secret_hash: string;
  /** ISO-8601 UTC with milliseconds, like the times below. */
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  /** When it was replaced: its expiry is the end of the overlap since then, and says nothing of its lifetime. */
  readonly rotated_at?: string;
  /** Of a replaced key, in milliseconds: how long it was made to work. Absent: for ever. */
  readonly lifetime_ms?: number;
  /** Requests per second. */
  readonly rate_limit?: number;
  readonly description?: string;
}

/** Requests per second of a key that was created without a limit. */
export const DEFAULT_RATE_LIMIT = 100;

/** A new key: its id, its whole text, which is shown once, and the hash that is stored. */
export function newApiKey(): { readonly key_id: string; readonly key: string; readonly secret_hash: string } {
  const key_id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  return { key_id, key: `nrk_${key_id}_${secret}`, secret_hash: hashOf(secret) };
}

/** The parts of `Bearer nrk_<key_id>_<secret>`. Undefined when the header has another form. */
export function parseAuthorization(
  header: string | undefined,
): { readonly key_id: string; readonly secret: string } | undefined {
  const [, key_id, secret] = /^bearer +nrk_([0-9a-f]{16})_([\w-]{43})$/i.exec(header ?? '') ?? [];
  return key_id === undefined || secret === undefined ? undefined : { key_id, secret };
}

/** Hash that is compared when the key does not exist, so that both cases take equally long. */
const UNKNOWN_KEY_HASH = createHash('sha256').update('nobody').digest('base64url');

/** Whether the secret belongs to the key and the key is valid now. The comparison takes constant time. */
export function isValid(key: ApiKey | undefined, secret: string, now: Date): key is ApiKey {
  const same = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(key?.secret_hash ?? UNKNOWN_KEY_HASH));
  return same && isLive(key, now);
}

/** Whether the key exists, is not revoked and has not expired. */
export function isLive(key: ApiKey | undefined, now: Date): key is ApiKey {
  if (key === undefined || key.revoked_at !== undefined) return false;
  return key.expires_at === undefined || Date.parse(key.expires_at) > now.getTime();
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Milliseconds that a revoked or expired key stays listed. Then DynamoDB deletes it. */
const KEPT_MS = 90 * 86_400_000;

/** The end of a key: at once, or of one that is replaced at a time, with what it was before. */
type KeyEnd = Pick<ApiKey, 'rotated_at' | 'lifetime_ms'> &
  ({ readonly revoked_at: string } | { readonly expires_at: string });

export interface ApiKeyStore {
  get(key_id: string): Promise<ApiKey | undefined>;
  create(key: ApiKey): Promise<void>;
  /** All keys, or the keys of one tenant, in order of creation. */
  list(tenant_id?: string): Promise<ApiKey[]>;
  /** Sets when the key ends. False when the key does not exist, was revoked before, or expires before that time. */
  end(key_id: string, end: KeyEnd): Promise<boolean>;
}

export function createApiKeyStore(client: DynamoDBClient, table: string): ApiKeyStore {
  return {
    async get(key_id) {
      // Consistent, so that a key that was just created is found: the authorizer's answer is cached for a minute.
      const item = await getItem(client, table, { key_id: { S: key_id } });
      return item && toApiKey(item);
    },

    async create(key) {
      const item = toItem({ ...key, ...(key.expires_at && { delete_at: deleteAt(key.expires_at) }) });
      const { applied } = await putGuarded(client, table, item, [[['key_id', '=', undefined]]]);
      if (!applied) throw new Error(`There is a key ${key.key_id} already.`);
    },

    async list(tenant_id) {
      const keys: ApiKey[] = [];
      let after: object | undefined;
      do {
        const page = await scan(client, { TableName: table }, after);
        keys.push(...page.items.map(toApiKey));
        after = page.next;
      } while (after !== undefined);
      return keys
        .filter((key) => tenant_id === undefined || key.tenant_id === tenant_id)
        .sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
    },

    async end(key_id, end) {
      const at = 'revoked_at' in end ? end.revoked_at : end.expires_at;
      const guard = mayEnd('expires_at' in end ? end.expires_at : undefined);
      const change = { set: { ...end, delete_at: deleteAt(at) } };
      return (await updateItem(client, table, { key_id: { S: key_id } }, change, [guard])).applied;
    },
  };
}

const deleteAt = (end: string): number => Math.ceil((Date.parse(end) + KEPT_MS) / 1000);

function toApiKey(item: Item): ApiKey {
  const { delete_at: _, ...key } = unmarshall(item);
  return key as ApiKey;
}
