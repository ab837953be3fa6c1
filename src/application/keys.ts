import { type ApiKey, createApiKeyStore, newApiKey } from '../adapters/api-keys/api-key.ts';
import type { Scope } from '../core/intake/api-scopes.ts';
import { Problem } from '../core/model/problem.ts';
import { type Decision, decisionOf } from '../core/operator/audit.ts';
import { shellCommand } from './contract/choices.ts';
import type { CreatedKey } from './contract/keys.ts';
import type { OperatorDeps } from './deps.ts';

type StoreDeps = Pick<OperatorDeps, 'dynamodb' | 'deployment' | 'clock'>;
type KeyDeps = StoreDeps & Pick<OperatorDeps, 'local'>;

/** A key as operators see it: without its hash. */
export type ShownKey = Omit<ApiKey, 'secret_hash'> & { readonly state: 'valid' | 'expired' | 'revoked' };

/** The API keys of producers. Few: the table is read as a whole. */
export async function listKeys(tenant: string | undefined, deps: StoreDeps): Promise<ShownKey[]> {
  const now = deps.clock().getTime();
  return (await storeOf(deps).list(tenant)).map(({ secret_hash: _, ...key }) => {
    const isExpired = key.expires_at !== undefined && Date.parse(key.expires_at) <= now;
    return { ...key, state: key.revoked_at !== undefined ? 'revoked' : isExpired ? 'expired' : 'valid' };
  });
}

export interface NewKey {
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** How long the key works; for ever unless given. */
  readonly lifetime_ms?: number | undefined;
  readonly rate_limit?: number | undefined;
  readonly description?: string | undefined;
}

export function createKey(request: NewKey, deps: KeyDeps): Decision<CreatedKey> {
  const { tenant, lifetime_ms, rate_limit, description } = request;
  const scopes = [...new Set(request.scopes)];
  // Its id is in the audit log before the key works.
  const made = newApiKey();
  return decisionOf({ what: 'key.create', on: [made.key_id, tenant], details: { scopes } }, async () => {
    const now = deps.clock();
    const answer = await issue(made, deps, {
      tenant_id: tenant,
      scopes,
      created_at: now.toISOString(),
      ...(lifetime_ms !== undefined && { expires_at: new Date(now.getTime() + lifetime_ms).toISOString() }),
      ...(rate_limit !== undefined && { rate_limit }),
      ...(description !== undefined && { description }),
    });
    return { answer, stored: { ...answer, key: null }, result: { created: 1 } };
  });
}

/** @throws Problem not-found */
export function revokeKey(
  key_id: string,
  deps: KeyDeps,
): Decision<{ readonly key_id: string; readonly revoked_at: string }> {
  return decisionOf({ what: 'key.revoke', on: [key_id] }, async () => {
    const revoked_at = deps.clock().toISOString();
    if (!(await storeOf(deps).end(key_id, { revoked_at }))) throw keyNotFound(key_id, deps);
    return { answer: { key_id, revoked_at }, result: { revoked: 1 } };
  });
}

/**
 * Makes a key with the same rights and the same lifetime, and lets the old one end.
 * @param keep_old_ms how long the old key still works, at most: rotation does not extend its life
 * @throws Problem not-found
 */
export function rotateKey(key_id: string, keep_old_ms: number, deps: KeyDeps) {
  const successor = newApiKey();
  return decisionOf({ what: 'key.rotate', on: [key_id, successor.key_id] }, async () => {
    const rotated = await rotate(key_id, successor, keep_old_ms, deps);
    return { answer: rotated, stored: { ...rotated, key: null }, result: { rotated: 1 } };
  });
}

async function rotate(key_id: string, successor: FreshKey, keep_old_ms: number, deps: KeyDeps) {
  const store = storeOf(deps);
  const old = await store.get(key_id);
  if (old === undefined || old.revoked_at !== undefined) throw keyNotFound(key_id, deps);
  const now = deps.clock().getTime();
  const { key_id: _, secret_hash: __, expires_at, rotated_at, lifetime_ms, ...same } = old;
  const end = new Date(Math.min(now + keep_old_ms, Date.parse(expires_at ?? '9999-12-31'))).toISOString();
  // The new key lives as long as the old key was meant to live.
  const given = expires_at === undefined ? undefined : Date.parse(expires_at) - Date.parse(old.created_at);
  const lifetime = rotated_at === undefined ? given : lifetime_ms;
  const made = await issue(successor, deps, {
    ...same,
    created_at: new Date(now).toISOString(),
    ...(lifetime !== undefined && { expires_at: new Date(now + lifetime).toISOString() }),
  });
  const was = { rotated_at: new Date(now).toISOString(), ...(lifetime !== undefined && { lifetime_ms: lifetime }) };
  const ends = await store.end(key_id, { expires_at: end, ...was });
  const sooner = ends ? undefined : await store.get(key_id);
  // Another operator has revoked it meanwhile: it has no end to tell.
  const old_ends_at = ends ? end : sooner?.revoked_at === undefined ? sooner?.expires_at : undefined;
  return { ...made, tenant_id: old.tenant_id, old_ends_at };
}

type FreshKey = ReturnType<typeof newApiKey>;

async function issue(
  { key_id, key, secret_hash }: FreshKey,
  deps: KeyDeps,
  rest: Omit<ApiKey, 'key_id' | 'secret_hash'>,
): Promise<CreatedKey> {
  await storeOf(deps).create({ ...rest, key_id, secret_hash });
  return { key_id, key };
}

const storeOf = ({ dynamodb, deployment }: StoreDeps) => createApiKeyStore(dynamodb, deployment.tables.api_keys);

function keyNotFound(key_id: string, { local }: KeyDeps): Problem {
  const see = shellCommand('keys list', local);
  return new Problem('not-found', `There is no key ${key_id} that is not revoked: see \`${see}\`.`);
}
