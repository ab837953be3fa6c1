import { describe, expect, it } from 'vitest';
import { answerExcerpt } from '../../../src/adapters/http/answer-excerpt.ts';
import { providerSafeId } from '../../../src/adapters/http/provider-safe-id.ts';

describe('the excerpt of an answer', () => {
  const body = 'Dear Ms Smith,\nyour certificate "ACME" has expired.';

  it.each([
    ['an e-mail address', 'not verified: a.b@example.com', 'not verified: …'],
    ['a URL', 'see https://hooks.example.com/T0/secret for more', 'see … for more'],
    ['a Slack token', 'bad token xoxb-12-ab', 'bad token …'],
    ['an echo of the body', `refused <<${body}>>`, 'refused <<…>>'],
    ['an echo of a part of the body', 'refused: certificate "ACME" has exp…', 'refused:……'],
    ['an echo as JSON', `{"got":${JSON.stringify(body)}}`, '{"got":…}'],
    ['a short recipient', 'no channel #ops here', 'no channel … here'],
  ])('masks %s', (_, text, expected) => {
    expect(answerExcerpt(text, ['#ops', undefined, body])).toBe(expected);
  });

  it('keeps what the provider says itself', () => {
    expect(answerExcerpt('{"error":"quota exceeded"}', ['#ops', body])).toBe('{"error":"quota exceeded"}');
  });

  it('has at most 300 characters', () => {
    expect(answerExcerpt('x'.repeat(5_000), [])).toHaveLength(300);
  });
});

describe('an id for providers', () => {
  it.each(['NL001', '0198c3f2-7a44-7cc0-9d4e-2f5b8d3a1c11', 'a_b-C'])('is %s itself', (id) => {
    expect(providerSafeId(id)).toBe(id);
  });

  it.each(['a.b', 'ログ1', 'a b', 'x'.repeat(300), ''])('takes only allowed characters in place of %j', (id) => {
    expect(providerSafeId(id)).toMatch(/^[\w-]{1,256}$/);
  });

  it('keeps two ids apart that differ only in what is replaced, and is the same each time', () => {
    expect(providerSafeId('a.b')).not.toBe(providerSafeId('a:b'));
    expect(providerSafeId('a.b')).toBe(providerSafeId('a.b'));
  });
});
