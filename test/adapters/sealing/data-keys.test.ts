import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createKmsKeyWrap } from '../../../src/adapters/kms/kms-key-wrap.ts';
import type { DataKeyStore } from '../../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer } from '../../../src/adapters/sealing/sealer.ts';
import { createMemoryDataKeys } from '../../../tools/simulation/twins/pipeline-state.ts';
import { KEY_ARN, startKms } from '../../support/kms.ts';

const MINUTE = 60_000;
const recipients = (tenant_id = 'T1') => ({ tenant_id, purpose: 'recipient' }) as const;
const owner = (id: string, tenant_id = 'T1') => ({ ...recipients(tenant_id), id });

let kms: Awaited<ReturnType<typeof startKms>>;
let store: DataKeyStore;
let now: number;
beforeAll(async () => {
  kms = await startKms();
});
afterAll(() => kms.close());
beforeEach(() => {
  store = createMemoryDataKeys();
  now = Date.parse('2026-11-22T03:00:00Z');
  kms.calls();
});

/** One function instance. */
const instance = (on: DataKeyStore = store) => {
  const keys = createDataKeys({ store: on, wrap: createKmsKeyWrap(kms.client, KEY_ARN), clock: () => new Date(now) });
  return { ...keys, ...createSealer(keys) };
};
const operations = () => kms.calls().map(({ operation }) => operation);

describe('KMS is called', () => {
  it('once for the batch that seals first in a month, and once in each instance that opens', async () => {
    const writer = instance();
    const ids = Array.from({ length: 50 }, (_, index) => `NL-${index}`);
    const sealed = await Promise.all(ids.map((id) => writer.seal(owner(id), `${id}@x.example`)));
    expect(operations()).toEqual(['GenerateDataKey']);

    const reader = instance();
    const opened = await Promise.all(sealed.map((text, index) => reader.open(owner(`NL-${index}`), text)));
    expect(opened).toEqual(ids.map((id) => `${id}@x.example`));
    expect(operations()).toEqual(['Decrypt']);
  });

  it('once by an instance that opens and seals at the same moment, whether the key exists or not', async () => {
    const sealed = await instance().seal(owner('a'), 'x');
    operations();
    const both = instance();
    await Promise.all([both.open(owner('a'), sealed), both.seal(owner('b'), 'y'), both.open(owner('a'), sealed)]);
    expect(operations()).toEqual(['Decrypt']);

    const fresh = instance();
    const found = fresh.find(recipients('T2'), 'recipient#2026-11');
    await Promise.all([found, fresh.current(recipients('T2')), fresh.current(recipients('T2'))]);
    expect(await found).toBeUndefined();
    expect(operations()).toEqual(['GenerateDataKey']);
  });

  it('again after an hour, and not before', async () => {
    const one = instance();
    await one.seal(owner('a'), 'x');
    now += 59 * MINUTE;
    await one.seal(owner('b'), 'x');
    expect(operations()).toEqual(['GenerateDataKey']);
    now += MINUTE;
    await one.seal(owner('c'), 'x');
    expect(operations()).toEqual(['Decrypt']);
  });

  it('again after a failure, which every caller of that moment hears', async () => {
    const one = instance();
    kms.refuse('ThrottlingException');
    const failed = await Promise.allSettled(['a', 'b', 'c'].map((id) => one.seal(owner(id), 'x')));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(operations()).toEqual(['GenerateDataKey']);
    await one.seal(owner('a'), 'x');
    expect(operations()).toEqual(['GenerateDataKey']);
  });

  it('for each tenant: two never share a data key', async () => {
    const one = instance();
    const keys = await Promise.all(['T1', 'T2'].map((tenant) => one.current(recipients(tenant))));
    expect(operations()).toEqual(['GenerateDataKey', 'GenerateDataKey']);
    expect(keys[0]?.key).not.toBe(keys[1]?.key);
  });
});

describe('instances that make the key of a month at the same moment', () => {
  it('agree on one, and open what the others sealed', async () => {
    const instances = Array.from({ length: 5 }, () => instance());
    const sealed = await Promise.all(instances.map((one, index) => one.seal(owner(`NL-${index}`), `text ${index}`)));
    for (const one of instances) {
      for (const [index, text] of sealed.entries()) {
        expect(await one.open(owner(`NL-${index}`), text)).toBe(`text ${index}`);
      }
    }
    const made = operations();
    expect(made.filter((operation) => operation === 'GenerateDataKey')).toHaveLength(5);
    // Who lost reads the winner's; nobody asks for a key that it has.
    expect(made.filter((operation) => operation === 'Decrypt')).toHaveLength(4);
  });

  it('do not take their own key for another’s when the SDK repeats a write that was applied', async () => {
    const repeating: DataKeyStore = {
      ...store,
      async add(key, wrapped, at) {
        await store.add(key, wrapped, at);
        return store.add(key, wrapped, at);
      },
    };
    const sealed = await instance(repeating).seal(owner('a'), 'x');
    expect(operations()).toEqual(['GenerateDataKey']);
    expect(await instance().open(owner('a'), sealed)).toBe('x');
  });
});

it('a new month has a new key, while the old one opens what it sealed', async () => {
  now = Date.parse('2026-11-30T23:59:59.999Z');
  const one = instance();
  const old = await one.seal(owner('a'), 'x');
  now += 1;
  const fresh = await one.seal(owner('b'), 'y');
  const ids = [old, fresh].map((text) => JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()).kid);
  expect(ids).toEqual(['recipient#2026-11', 'recipient#2026-12']);
  expect(await instance().open(owner('a'), old)).toBe('x');
  expect(await one.open(owner('b'), fresh)).toBe('y');
});

it('more tenants than an instance remembers cost a call each, and the oldest is forgotten first', async () => {
  const wrap = createKmsKeyWrap(kms.client, KEY_ARN);
  let made = 0;
  const key = (await wrap.make({ ...recipients(), key_id: 'recipient#2026-11' })).key;
  const counting = {
    make: async () => {
      made++;
      return { key: Uint8Array.from(key), wrapped: Uint8Array.of(1) };
    },
    unwrap: async () => {
      made++;
      return Uint8Array.from(key);
    },
  };
  const one = createDataKeys({ store, wrap: counting, clock: () => new Date(now) });
  for (let tenant = 0; tenant <= 10_000; tenant++) await one.current(recipients(`T${tenant}`));
  expect(made).toBe(10_001);
  await one.current(recipients('T10000'));
  await one.current(recipients('T1'));
  expect(made).toBe(10_001);
  await one.current(recipients('T0'));
  expect(made).toBe(10_002);
});
