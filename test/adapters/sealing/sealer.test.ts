import { randomBytes } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createLocalKeyWrap, type DataKeyStore } from '../../../src/adapters/sealing/data-keys.ts';
import {
  createDataKeys,
  createSealer,
  type SealOwner,
  SealRefusedError,
} from '../../../src/adapters/sealing/sealer.ts';
import { createMemoryDataKeys } from '../../../tools/simulation/twins/pipeline-state.ts';

const owner: SealOwner = { tenant_id: 'TENANT001', purpose: 'recipient', id: 'NL-20261122-000001' };
const text = '山田.taro@example.com';

function setUp(store: DataKeyStore = createMemoryDataKeys(), masterKey = randomBytes(32)) {
  const wrap = createLocalKeyWrap(async () => masterKey);
  const keys = createDataKeys({ store, wrap, clock: () => new Date('2026-11-22T03:00:00Z') });
  return { keys, store, masterKey, ...createSealer(keys) };
}

const parts = (sealed: string) => sealed.split('.');
const encoded = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url');
/** The same text under another header, as someone who writes to the table could store it. */
const under = (sealed: string, changes: object) =>
  [encoded({ ...decodeProtectedHeader(sealed), ...changes }), ...parts(sealed).slice(1)].join('.');

describe('a sealed text', () => {
  it('is a JWE that says by which key it opens and for whom, and nothing of the text', async () => {
    const { seal, open, keys } = setUp();
    const sealed = await seal(owner, text);
    expect(decodeProtectedHeader(sealed)).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      kid: 'recipient#2026-11',
      tenant: 'TENANT001',
      id: 'NL-20261122-000001',
    });
    expect(parts(sealed)[1]).toBe('');
    for (const part of parts(sealed)) expect(Buffer.from(part, 'base64url').toString()).not.toContain('taro');
    expect(await open(owner, sealed)).toBe(text);
    const { key } = await keys.current(owner);
    expect(new TextDecoder().decode((await compactDecrypt(sealed, key)).plaintext)).toBe(text);
  });

  it('may come from another implementation of RFC 7516', async () => {
    const { open, keys } = setUp();
    const { key, key_id } = await keys.current(owner);
    const header = { alg: 'dir', enc: 'A256GCM', kid: key_id, tenant: owner.tenant_id, id: owner.id };
    const sealed = await new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(header).encrypt(key);
    expect(await open(owner, sealed)).toBe(text);
  });

  it('is different each time', async () => {
    const { seal } = setUp();
    const sealed = await Promise.all(Array.from({ length: 100 }, () => seal(owner, text)));
    expect(new Set(sealed.map((one) => parts(one)[2])).size).toBe(100);
  });

  it.each([
    '',
    'a@example.com',
    '\u0000',
    JSON.stringify(Array.from({ length: 50 }, (_, n) => `member-${n}@x.example`)),
  ])('keeps %j', async (plain) => {
    const { seal, open } = setUp();
    expect(await open(owner, await seal(owner, plain))).toBe(plain);
  });

  it('needs at most 211 characters for an address of 11 bytes', async () => {
    const { seal } = setUp();
    const sealed = await seal({ ...owner, id: 'NL-20261122-0000000001' }, 'a@b.example');
    expect(sealed.length).toBeLessThanOrEqual(211);
  });
});

describe('a sealed text is refused for good', () => {
  const refusal = async (opening: Promise<string>) => {
    const error = await opening.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SealRefusedError);
    const { reason, message } = error as SealRefusedError;
    expect(message).not.toContain('taro');
    expect(message).toContain(owner.id.slice(0, 3));
    return reason;
  };

  it.each<[string, Partial<SealOwner>]>([
    ['another row', { id: 'NL-2' }],
    ['another tenant', { tenant_id: 'TENANT002' }],
  ])('in the place of %s’s', async (_, changes) => {
    const { seal, open } = setUp();
    const thief = { ...owner, ...changes };
    await seal(thief, 'their own');
    expect(await refusal(open(thief, await seal(owner, text)))).toBe('other_owner');
  });

  it.each<[string, Partial<SealOwner>, object]>([
    ['another row', { id: 'NL-2' }, { id: 'NL-2' }],
    ['another tenant, whose data key has the same id', { tenant_id: 'TENANT002' }, { tenant: 'TENANT002' }],
  ])('if its header was changed to %s’s', async (_, changes, header) => {
    const { seal, open } = setUp();
    const thief = { ...owner, ...changes };
    await seal(thief, 'their own');
    expect(await refusal(open(thief, under(await seal(owner, text), header)))).toBe('altered');
  });

  it('if its header names a data key that does not exist, such as that of a tenant that was deleted', async () => {
    const { seal, open, masterKey } = setUp();
    const sealed = await seal(owner, text);
    expect(await refusal(open(owner, under(sealed, { kid: 'recipient#2026-10' })))).toBe('unknown_key');
    expect(await refusal(setUp(createMemoryDataKeys(), masterKey).open(owner, sealed))).toBe('unknown_key');
  });

  it.each([
    ['header', 0],
    ['nonce', 2],
    ['text', 3],
    ['tag', 4],
  ])('if its %s was altered', async (_, part) => {
    const { seal, open } = setUp();
    const altered = parts(await seal(owner, text));
    const bytes = Buffer.from(altered[part] ?? '', 'base64url');
    if (part === 0) bytes.write(' ', bytes.length - 1);
    else bytes[0] = (bytes[0] ?? 0) ^ 1;
    altered[part] =
      part === 0 ? encoded({ ...decodeProtectedHeader(altered.join('.')), x: 1 }) : bytes.toString('base64url');
    expect(await refusal(open(owner, altered.join('.')))).toBe('altered');
  });

  it.each([
    ['a shorter tag', (tag: string) => tag.slice(0, 16)],
    ['no tag', () => ''],
  ])('if it has %s', async (_, shortened) => {
    const { seal, open } = setUp();
    const [header, , nonce, sealed, tag = ''] = parts(await seal(owner, text));
    expect(await refusal(open(owner, [header, '', nonce, sealed, shortened(tag)].join('.')))).toBe('altered');
  });

  it.each<[string, object]>([
    ['another algorithm', { enc: 'A256CBC-HS512' }],
    ['a key of its own', { alg: 'A256GCMKW' }],
    ['compression', { zip: 'DEF' }],
    ['an extension that must be understood', { crit: ['b64'], b64: false }],
  ])('if its header asks for %s', async (_, header) => {
    const { seal, open } = setUp();
    expect(await refusal(open(owner, under(await seal(owner, text), header)))).toBe('altered');
  });

  it.each([
    ['nothing', ''],
    ['no JWE', 'nonsense'],
    ['no JSON', 'bm9uc2Vuc2U....'],
    ['no object', `${encoded(['x'])}....`],
    ['no kid', `${encoded({ alg: 'dir', enc: 'A256GCM', tenant: owner.tenant_id, id: owner.id })}....`],
    ['a kid that is no text', `${encoded({ kid: 1, tenant: owner.tenant_id, id: owner.id })}....`],
    [
      'a kid that goes on behind the month',
      `${encoded({ kid: 'recipient#2026-11#x', tenant: owner.tenant_id, id: owner.id })}....`,
    ],
    ['a kid without a month', `${encoded({ kid: 'recipient#x', tenant: owner.tenant_id, id: owner.id })}....`],
  ])('if it is %s', async (_, sealed) => expect(await refusal(setUp().open(owner, sealed))).toBe('malformed'));

  it('if it is of another purpose', async () => {
    const { open, keys } = setUp();
    const { key } = await keys.current(owner);
    const header = { alg: 'dir', enc: 'A256GCM', kid: 'member#2026-11', tenant: owner.tenant_id, id: owner.id };
    const sealed = await new CompactEncrypt(Buffer.from(text)).setProtectedHeader(header).encrypt(key);
    expect(await refusal(open(owner, sealed))).toBe('other_owner');
  });
});

describe('an outage is no refusal', () => {
  it('of the storage of the keys', async () => {
    const { seal, store, masterKey } = setUp();
    const sealed = await seal(owner, text);
    const away = { ...store, find: () => Promise.reject(new Error('throttled')) };
    await expect(setUp(away, masterKey).open(owner, sealed)).rejects.toThrow('throttled');
  });

  it('of the key service', async () => {
    const { seal, store } = setUp();
    const sealed = await seal(owner, text);
    const opening = setUp(store, randomBytes(32)).open(owner, sealed);
    await expect(opening).rejects.toThrow();
    await expect(opening).rejects.not.toBeInstanceOf(SealRefusedError);
  });
});
