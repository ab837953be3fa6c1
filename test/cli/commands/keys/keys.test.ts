import { createHash } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeyStore, isValid, parseAuthorization } from '../../../../src/adapters/api-keys/api-key.ts';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const create = (...more: string[]) =>
  ops.json<{ key_id: string; key: string }>('keys', 'create', '--tenant', 'T1', '--scope', 'send', ...more);
const stored = (key_id: string) => createApiKeyStore(ops.dynamodb, ops.tables.api_keys).get(key_id);
const isGood = async (key: string, at = new Date()) => {
  const given = parseAuthorization(`Bearer ${key}`);
  return given !== undefined && isValid(await stored(given.key_id), given.secret, at);
};

describe('keys create', () => {
  it('prints the key once, and stores nothing from which it can be derived', async () => {
    const { key_id, key } = await create('--scope', 'read');
    expect(key).toMatch(new RegExp(`^nrk_${key_id}_[A-Za-z0-9_-]{43}$`));
    expect(await isGood(key)).toBe(true);
    const secret = key.slice(`nrk_${key_id}_`.length);
    const { Items } = await ops.dynamodb.send(new ScanCommand({ TableName: ops.tables.api_keys }));
    expect(JSON.stringify(Items)).not.toContain(secret);
    expect(await stored(key_id)).toMatchObject({
      tenant_id: 'T1',
      scopes: ['send', 'read'],
      secret_hash: createHash('sha256').update(secret).digest('base64url'),
    });
  });

  it('makes two keys that have nothing in common', async () => {
    const [one, other] = [await create(), await create()];
    expect(one.key_id).not.toBe(other.key_id);
    expect(one.key.slice(-43)).not.toBe(other.key.slice(-43));
  });

  it('stores an expiry, a rate limit and a description', async () => {
    const { key, key_id } = await create('--expires', '2h', '--rate-limit', '7', '--description', 'BATCH-951');
    expect(await stored(key_id)).toMatchObject({ rate_limit: 7, description: 'BATCH-951' });
    expect(await isGood(key, new Date(Date.now() + 3_600_000))).toBe(true);
    expect(await isGood(key, new Date(Date.now() + 2 * 3_600_000))).toBe(false);
  });

  it('without --json puts the key alone on stdout', async () => {
    const { out, err, code } = await ops.run(['keys', 'create', '--tenant', 'T1', '--scope', 'send', '--local']);
    expect(code).toBe(0);
    expect(out).toMatch(/^nrk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}\n$/);
    expect(err).toContain('not shown again');
  });

  it.each([
    [['--tenant', 'T1'], '--scope'],
    [['--scope', 'send'], '--tenant'],
    [['--tenant', 'T1', '--scope', 'admin'], 'send, read, operate'],
    [['--tenant', 'T1', '--scope', 'send', '--expires', 'soon'], 'duration'],
    [['--tenant', 'T1', '--scope', 'send', '--rate-limit', '0'], '1 or more'],
  ])('%j is refused with %s', async (args, said) => {
    const { code, err } = await ops.run(['keys', 'create', ...args, '--local']);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});

it('keys list shows a tenant’s keys and their state, and no hash', async () => {
  const { key_id } = await ops.json<{ key_id: string }>('keys', 'create', '--tenant', 'T2', '--scope', 'operate');
  const listed = await ops.json<{ keys: object[] }>('keys', 'list', '--tenant', 'T2');
  expect(listed.keys).toEqual([expect.objectContaining({ key_id, tenant_id: 'T2', state: 'valid' })]);
  expect(JSON.stringify(await ops.json('keys', 'list'))).not.toContain('secret_hash');
  expect((await ops.run(['keys', 'list', '--tenant', 'T9', '--local'])).out).toBe('T9 has no keys.\n');
  const { out } = await ops.run(['keys', 'list', '--local']);
  expect(out).toContain(key_id);
});

it('keys revoke revokes a key at once, and says if there is none to revoke', async () => {
  const { key_id, key } = await create();
  expect(await ops.json('keys', 'revoke', key_id)).toMatchObject({ key_id, revoked_at: expect.any(String) });
  expect(await isGood(key)).toBe(false);
  for (const id of [key_id, 'unknown']) {
    const { code, err } = await ops.run(['keys', 'revoke', id, '--local']);
    expect([code, err]).toEqual([1, expect.stringContaining(`There is no key ${id} that is not revoked`)]);
  }
});

describe('keys rotate', () => {
  it.each([
    ['for ever', [], undefined],
    ['for 90 days', ['--expires', '90d'], 90 * 86_400_000],
  ])('makes a key that works %s also when the same key is rotated again', async (_, options, lifetime) => {
    const { key_id } = await create(...options);
    const ends = async (of: string) => (await stored(of))?.expires_at;
    for (let times = 0; times < 3; times++) {
      const made = await ops.json<{ key_id: string }>('keys', 'rotate', key_id);
      const until = await ends(made.key_id);
      if (lifetime === undefined) expect(until).toBeUndefined();
      else expect(Date.parse(until ?? '') - Date.now()).toBeGreaterThan(lifetime - 60_000);
      // The old one ends in a day.
      expect(Date.parse((await ends(key_id)) ?? '') - Date.now()).toBeLessThan(86_400_001);
      expect(await stored(made.key_id)).not.toHaveProperty('rotated_at');
    }
    expect(JSON.stringify(await ops.json('keys', 'list'))).toContain(key_id);
  });

  it('makes a key with the same rights, and ends the old key after --keep-old', async () => {
    const old = await create('--scope', 'read', '--rate-limit', '5');
    const { key, key_id } = await ops.json<{ key: string; key_id: string }>(
      'keys',
      'rotate',
      old.key_id,
      '--keep-old',
      '2h',
    );
    expect(await stored(key_id)).toMatchObject({ tenant_id: 'T1', scopes: ['send', 'read'], rate_limit: 5 });
    expect(await isGood(key, new Date(Date.now() + 86_400_000))).toBe(true);
    expect(await isGood(old.key)).toBe(true);
    expect(await isGood(old.key, new Date(Date.now() + 2 * 3_600_000 + 1_000))).toBe(false);
  });

  it('gives the new key the lifetime of the old key, and does not extend the old key', async () => {
    const old = await create('--expires', '1h');
    const { key_id } = await ops.json<{ key_id: string }>('keys', 'rotate', old.key_id);
    const [before, after] = [await stored(old.key_id), await stored(key_id)];
    expect(Date.parse(before?.expires_at ?? '')).toBeLessThanOrEqual(Date.parse(before?.created_at ?? '') + 3_600_000);
    expect(Date.parse(after?.expires_at ?? '') - Date.parse(after?.created_at ?? '')).toBe(3_600_000);
  });

  it('never lets a key end later than it already does, so that an expired one stays so', async () => {
    const { key_id } = await create('--expires', '1h');
    const keys = createApiKeyStore(ops.dynamodb, ops.tables.api_keys);
    const expires_at = new Date(Date.now() - 1_000).toISOString();
    expect(await keys.end(key_id, { expires_at })).toBe(true);
    for (const later of [1, 86_400_000]) {
      expect(await keys.end(key_id, { expires_at: new Date(Date.parse(expires_at) + later).toISOString() })).toBe(
        false,
      );
    }
    expect(await keys.end(key_id, { expires_at })).toBe(true);
    expect((await stored(key_id))?.expires_at).toBe(expires_at);
    expect(await keys.end(key_id, { revoked_at: new Date().toISOString() })).toBe(true);
  });

  /** Rotates a key, and ends it as another operator does while the new key is being put. */
  async function rotatedWhile(end: { revoked_at: string } | { expires_at: string }) {
    const { key_id } = await create();
    const { requestHandler } = ops.dynamodb.config;
    const handle: typeof requestHandler.handle = async (request, options) => {
      const puts = request.headers['x-amz-target']?.endsWith('.PutItem') === true;
      // The audit log's record is put before.
      if (puts && new TextDecoder().decode(request.body).includes(ops.tables.api_keys)) {
        await createApiKeyStore(ops.dynamodb, ops.tables.api_keys).end(key_id, end);
      }
      return requestHandler.handle(request, options);
    };
    const { clients: given } = ops.deployment;
    const clients = { ...given, dynamodb: { ...given.dynamodb, requestHandler: { handle } } };
    const ended = await ops.run(['keys', 'rotate', key_id, '--local'], {
      findDeployment: async () => ({ ...ops.deployment, clients }),
    });
    return { key_id, ended };
  }

  it('says so if another operator revokes the old key in between', async () => {
    const { key_id, ended } = await rotatedWhile({ revoked_at: new Date().toISOString() });
    expect(ended).toMatchObject({ code: 0, err: expect.stringContaining(`${key_id} was revoked in the meantime`) });
    expect(ended.err).not.toContain('works until');
    expect(await stored(key_id)).not.toHaveProperty('expires_at');
  });

  it('keeps the earlier end if another operator lets the old key end sooner', async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { key_id, ended } = await rotatedWhile({ expires_at });
    expect(ended).toMatchObject({ code: 0, err: expect.stringContaining(`${key_id} works until ${expires_at}`) });
    expect((await stored(key_id))?.expires_at).toBe(expires_at);
  });

  it('does not revive a revoked key', async () => {
    const { key_id } = await create();
    await ops.json('keys', 'revoke', key_id);
    expect((await ops.run(['keys', 'rotate', key_id, '--local'])).code).toBe(1);
  });
});
