import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { expect, it } from 'vitest';
import { decrypt, encrypt } from '../../../src/adapters/sealing/sealer.ts';
import { anyCharacter } from '../../support/any-character.ts';

const raw = crypto.getRandomValues(new Uint8Array(32));
const key = createSecretKey(raw);

it('opens every text that the library sealed', () =>
  fc.assert(
    fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 300 }), async (text) => {
      expect(decrypt(encrypt({ kid: 'k', tenant: 't', id: 'i' }, text, key), key)).toBe(
        new TextDecoder().decode(new TextEncoder().encode(text)),
      );
    }),
  ));

it('refuses every text with one other character, as the library does', async () => {
  const sealed = encrypt({ kid: 'k', tenant: 't', id: 'i' }, 'a@b.example', key);
  let refused = 0;
  for (let at = 0; at < sealed.length; at++) {
    for (const char of 'Ab_.=') {
      if (sealed[at] === char) continue;
      const altered = sealed.slice(0, at) + char + sealed.slice(at + 1);
      const byLibrary = await compactDecrypt(altered, raw).then(
        () => true,
        () => false,
      );
      if (byLibrary) continue;
      expect(decrypt(altered, key), altered).toBeUndefined();
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(sealed.length);
});

it.each([
  ['another algorithm', { alg: 'A256KW', enc: 'A256GCM' }],
  ['another cipher', { alg: 'dir', enc: 'A256CBC-HS512' }],
])('refuses %s', async (_, header) => {
  const bytes = header.enc === 'A256GCM' ? raw : new Uint8Array([...raw, ...raw]);
  const sealed = await new CompactEncrypt(new TextEncoder().encode('text')).setProtectedHeader(header).encrypt(bytes);
  expect(decrypt(sealed, key)).toBeUndefined();
});

it.each(['zip', 'crit'])('refuses the header %s', async (name) => {
  const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', [name]: ['x'] })).toString('base64url');
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const additionalData = new TextEncoder().encode(header);
  const imported = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt']);
  const sealed = Buffer.from(
    await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, imported, new TextEncoder().encode('text')),
  );
  const parts = [header, '', Buffer.from(iv), sealed.subarray(0, -16), sealed.subarray(-16)];
  const jwe = parts.map((part) => (typeof part === 'string' ? part : part.toString('base64url'))).join('.');
  expect(decrypt(jwe, key)).toBeUndefined();
});
