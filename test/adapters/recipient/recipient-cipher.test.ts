import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createKmsRecipientCipher,
  createLocalRecipientCipher,
  RecipientMismatchError,
} from '../../../src/adapters/recipient/recipient-cipher.ts';
import { recipientHash } from '../../../src/adapters/recipient/recipient-hash.ts';
import { type Loopback, startLoopback } from '../../support/loopback.ts';

const owner = { tenant_id: 'T1', log_id: 'NL-1' };
const recipient = '山田.taro@example.com';

describe('an encrypted recipient', () => {
  const cipher = createLocalRecipientCipher(Buffer.alloc(32, 1));

  it('can be read by its owner', async () => {
    const ciphertext = await cipher.encrypt(owner, recipient);
    expect(Buffer.from(ciphertext).includes('taro')).toBe(false);
    expect(await cipher.decrypt(owner, ciphertext)).toBe(recipient);
  });

  it.each([
    ['another row', { tenant_id: 'T1', log_id: 'NL-2' }],
    ['another tenant', { tenant_id: 'T2', log_id: 'NL-1' }],
  ])('is refused when it was moved to %s', async (_, thief) => {
    const ciphertext = await cipher.encrypt(owner, recipient);
    await expect(cipher.decrypt(thief, ciphertext)).rejects.toThrow(RecipientMismatchError);
    await expect(cipher.decrypt(thief, ciphertext)).rejects.not.toThrow('taro');
  });

  it('is refused when it was altered or belongs to another key', async () => {
    const ciphertext = Uint8Array.from(await cipher.encrypt(owner, recipient));
    const altered = ciphertext.map((byte, index) => (index === ciphertext.length - 1 ? byte ^ 1 : byte));
    await expect(cipher.decrypt(owner, altered)).rejects.toThrow();
    await expect(createLocalRecipientCipher(Buffer.alloc(32, 2)).decrypt(owner, ciphertext)).rejects.toThrow();
    await expect(cipher.decrypt(owner, Buffer.from('nonsense'))).rejects.toThrow();
  });

  it('needs a key of 32 bytes', () => {
    expect(() => createLocalRecipientCipher(Buffer.alloc(16))).toThrow('has 16 bytes; it must have 32');
  });
});

describe('with KMS', () => {
  const keyArn = 'arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001';
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback();
    server.answer = (response, { headers, body }) => {
      response.end(JSON.stringify(answerAsKms(String(headers['x-amz-target']), JSON.parse(body), keyArn)));
    };
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', server.url);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b');
  });
  beforeEach(() => {
    server.received.length = 0;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });

  const calls = () => server.received.map(({ headers }) => String(headers['x-amz-target']).split('.')[1]);

  it('a batch of a tenant needs one data key, bound to the tenant, and one decryption of it', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `NL-${index}`);
    const writer = createKmsRecipientCipher(keyArn);
    const sealed = await Promise.all(
      ids.map((log_id) => writer.encrypt({ tenant_id: 'T1', log_id }, `${log_id}@x.example`)),
    );
    expect(calls()).toEqual(['GenerateDataKey']);
    expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({
      KeyId: keyArn,
      EncryptionContext: { tenant_id: 'T1' },
    });

    const reader = createKmsRecipientCipher(keyArn);
    const read = sealed.map((text, index) => reader.decrypt({ tenant_id: 'T1', log_id: `NL-${index}` }, text));
    expect(await Promise.all(read)).toEqual(ids.map((log_id) => `${log_id}@x.example`));
    expect(calls()).toEqual(['GenerateDataKey', 'Decrypt']);
  });

  it('two tenants never share a data key', async () => {
    const cipher = createKmsRecipientCipher(keyArn);
    await cipher.encrypt({ tenant_id: 'T1', log_id: 'a' }, 'x');
    await cipher.encrypt({ tenant_id: 'T2', log_id: 'b' }, 'x');
    expect(calls()).toEqual(['GenerateDataKey', 'GenerateDataKey']);
  });
});

describe('the hash of a recipient', () => {
  it('is the start of the HMAC-SHA256 of tenant and recipient, in base64url', () => {
    expect(recipientHash('key', 'T1', 'a@example.com')).toBe('Hi0NKKuDmERuXJZcfaMzED');
  });

  it.each([
    ['case and surrounding space of an e-mail address', ' A@Example.COM ', 'a@example.com', true],
    ['surrounding space of a channel', ' #ops', '#ops', true],
    ['case of a channel id', 'C01abc', 'C01ABC', false],
    ['case of a URL', 'https://x.example/A@b', 'https://x.example/a@b', false],
  ])('%s', (_, one, other, same) => {
    expect(recipientHash('key', 'T1', one) === recipientHash('key', 'T1', other)).toBe(same);
  });

  it('differs by tenant and by key', () => {
    const hashes = [recipientHash('key', 'T1', 'a'), recipientHash('key', 'T2', 'a'), recipientHash('kez', 'T1', 'a')];
    expect(new Set(hashes).size).toBe(3);
  });
});

/** Wraps data keys under a key of the test's, with the encryption context as authenticated data, as KMS does. */
const MASTER = randomBytes(32);

function answerAsKms(target: string, input: Record<string, unknown>, keyArn: string) {
  const aad = Buffer.from(JSON.stringify(input['EncryptionContext']));
  if (target.endsWith('GenerateDataKey')) {
    const key = randomBytes(Number(input['NumberOfBytes']));
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', MASTER, nonce).setAAD(aad);
    const wrapped = Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
    return { KeyId: keyArn, Plaintext: key.toString('base64'), CiphertextBlob: wrapped.toString('base64') };
  }
  const wrapped = Buffer.from(String(input['CiphertextBlob']), 'base64');
  const decipher = createDecipheriv('aes-256-gcm', MASTER, wrapped.subarray(0, 12)).setAAD(aad);
  decipher.setAuthTag(wrapped.subarray(-16));
  const key = Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()]);
  return { KeyId: keyArn, Plaintext: key.toString('base64') };
}
