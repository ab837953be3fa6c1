import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newApiKey, parseAuthorization } from '../../../src/adapters/api-keys/api-key.ts';
import {
  isRecipientOf,
  parseTokenHeader,
  readPageToken,
  signPageToken,
} from '../../../src/adapters/api-keys/page-token.ts';
import { unsubscribeToken } from '../../../src/adapters/signing/signed-tokens.ts';

const SECRET = 'a'.repeat(40);
const TOKEN = { key_id: '0123456789abcdef', expires_at: '2026-11-22T10:00:00.123Z' };
const ring = (current: string, ...ids: string[]) =>
  JSON.stringify({ current, keys: Object.fromEntries(ids.map((id) => [id, id.repeat(40)])) });

describe('a page token', () => {
  it.each([{ send: true as const }, { log_ids: ['NL1', '通知-2', 'a.b/c'] }])(
    'says what it was signed for: %o',
    (rights) => {
      const text = signPageToken(SECRET, { ...TOKEN, rights }, 'id');
      expect(readPageToken(SECRET, text)).toEqual({ ...TOKEN, token_id: 'id', rights });
    },
  );

  it('has of its recipient what only the functions of the stage can compare', () => {
    const rights = { send: true as const, recipient: 'a@b.example', integration_config_id: 'INT-1' };
    const tokens = [SECRET, 'b'.repeat(40)].map((secret) => ({
      secret,
      text: signPageToken(secret, { ...TOKEN, rights }, 'id'),
    }));
    const shown = tokens.map(({ text }) =>
      JSON.parse(Buffer.from(text.split('.')[0]?.slice(4) ?? '', 'base64url').toString()),
    );
    expect(shown[0]).toEqual({
      i: 'id',
      k: TOKEN.key_id,
      e: Date.parse(TOKEN.expires_at),
      r: expect.any(String),
      g: 'INT-1',
    });
    expect(shown[0].r).not.toBe(shown[1].r);
    for (const { secret, text } of tokens) {
      const read = readPageToken(secret, text)?.rights;
      const recipient = read !== undefined && 'send' in read ? read.recipient : undefined;
      expect(recipient && isRecipientOf(recipient, 'a@b.example')).toBe(true);
      expect(recipient && isRecipientOf(recipient, 'c@b.example')).toBe(false);
      expect(text).not.toContain(recipient?.key);
    }
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('comes with the scheme in any case, as a key does: %s', (scheme) => {
    const { key, key_id } = newApiKey();
    expect(parseAuthorization(`${scheme} ${key}`)?.key_id).toBe(key_id);
    expect(parseTokenHeader(`${scheme} nrt_a.b`)).toBe('nrt_a.b');
  });

  it('is another one each time', () => {
    const signed = () => signPageToken(SECRET, { ...TOKEN, rights: { send: true } });
    expect(signed()).not.toBe(signed());
  });

  it('is invalid when one character of it differs', () => {
    const text = signPageToken(SECRET, { ...TOKEN, rights: { log_ids: ['NL1'] } });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'aZ09-_.'), (at, other) => {
        fc.pre(text[at] !== other);
        expect(readPageToken(SECRET, text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
      }),
    );
  });

  it.each(['', 'nrt_', 'nrt_e30.0.', `nrt_e30.0.${'A'.repeat(43)}`, `nrt_${'A'.repeat(5_000)}.0.${'A'.repeat(43)}`])(
    'is not %j',
    (text) => expect(readPageToken(SECRET, text)).toBeUndefined(),
  );

  it('stays valid while the old key is beside the new one, and ends with it', () => {
    const before = signPageToken(ring('a', 'a'), { ...TOKEN, rights: { send: true } });
    expect(readPageToken(ring('b', 'a', 'b'), before)).toBeDefined();
    expect(readPageToken(ring('b', 'b'), before)).toBeUndefined();
  });

  it('cannot be made from what the same secret signs for another use', () => {
    const link = unsubscribeToken(SECRET, { email_id: 'E', batch_id: 'B', chunk: 0, n: 0 });
    expect(readPageToken(SECRET, link)).toBeUndefined();
  });
});
