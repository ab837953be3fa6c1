import { describe, expect, it } from 'vitest';
import { recipientHash } from '../../../src/adapters/signing/hashed-ids.ts';

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
