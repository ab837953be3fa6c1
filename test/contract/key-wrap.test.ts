import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKmsKeyWrap } from '../../src/adapters/kms/kms-key-wrap.ts';
import type { KeyContext, KeyWrap } from '../../src/adapters/sealing/data-keys.ts';
import { createLocalKeyWrap } from '../../src/adapters/sealing/data-keys.ts';
import { KEY_ARN, startKms } from '../support/kms.ts';

const context: KeyContext = { tenant_id: 'T1', purpose: 'recipient', key_id: 'recipient#2026-11' };

/** What every KeyWrap must do. */
function keyWrapSuite(wrap: () => KeyWrap, other: () => KeyWrap): void {
  it('unwraps what it wrapped: 32 bytes that the wrapped form does not show', async () => {
    const { key, wrapped } = await wrap().make(context);
    expect(key).toHaveLength(32);
    expect(Buffer.from(wrapped).includes(Buffer.from(key))).toBe(false);
    expect(Buffer.from(await wrap().unwrap(context, wrapped)).equals(key)).toBe(true);
  });

  it('makes another key each time', async () => {
    const keys = await Promise.all([1, 2, 3].map(async () => (await wrap().make(context)).key.join()));
    expect(new Set(keys).size).toBe(3);
  });

  it.each<[string, Partial<KeyContext>]>([
    ['tenant', { tenant_id: 'T2' }],
    ['month', { key_id: 'recipient#2026-12' }],
  ])('refuses a key in the place of another %s’s', async (_, changes) => {
    const { wrapped } = await wrap().make(context);
    await expect(wrap().unwrap({ ...context, ...changes }, wrapped)).rejects.toThrow();
  });

  it('refuses a key that was altered, cut off, or wrapped by another master key', async () => {
    const { wrapped } = await wrap().make(context);
    const altered = Uint8Array.from(wrapped, (byte, index) => (index === 20 ? byte ^ 1 : byte));
    for (const broken of [altered, wrapped.subarray(0, 10), (await other().make(context)).wrapped]) {
      await expect(wrap().unwrap(context, broken)).rejects.toThrow();
    }
  });
}

describe('wrapping with a local key', () => {
  const wraps = [randomBytes(32), randomBytes(32)].map((key) => createLocalKeyWrap(async () => key));
  const [one, other] = wraps as [KeyWrap, KeyWrap];
  keyWrapSuite(
    () => one,
    () => other,
  );
});

describe('wrapping with KMS', () => {
  let servers: Awaited<ReturnType<typeof startKms>>[];
  beforeAll(async () => {
    servers = await Promise.all([startKms(), startKms()]);
  });
  afterAll(() => Promise.all(servers.map((server) => server.close())));
  const on = (index: number) => {
    const server = servers[index];
    if (server === undefined) throw new Error('KMS is not started');
    return { server, wrap: createKmsKeyWrap(server.client, KEY_ARN) };
  };
  keyWrapSuite(
    () => on(0).wrap,
    () => on(1).wrap,
  );

  it('names the key, and tenant, purpose and month in the encryption context, which policies and CloudTrail see', async () => {
    const { server, wrap } = on(0);
    server.calls();
    const { wrapped } = await wrap.make(context);
    await wrap.unwrap(context, wrapped);
    expect(server.calls()).toEqual([
      { operation: 'GenerateDataKey', context, key: KEY_ARN },
      { operation: 'Decrypt', context, key: KEY_ARN },
    ]);
  });
});
