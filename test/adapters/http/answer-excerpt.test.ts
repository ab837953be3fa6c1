import { describe, expect, it } from 'vitest';
import { answerExcerpt } from '../../../src/adapters/http/answers.ts';
import { providerSafeId } from '../../../src/adapters/signing/hashed-ids.ts';

describe('the excerpt of an answer', () => {
  const body = 'Dear Ms Smith,\nyour certificate "ACME" has expired.';

  it.each([
    ['an e-mail address', 'not verified: a.b@example.com', 'not verified: …'],
    ['one of a URL', 'no mailbox a.b%40example.com', 'no mailbox …'],
    ['one of a URL in a URL', 'no mailbox a.b%2540example.com', 'no mailbox …'],
    ['one with a full-width sign', '宛先 a.b＠example.com は不明', '宛先 … は不明'],
    ['one with a small sign', 'no a.b﹫example.com', 'no …'],
    ['one of HTML', 'no a.b&#64;example.com or a.b&#x40;example.com', 'no … or …'],
    ['one that JSON has escaped', '{"to":"a.b\\u0040example.com"}', '{"to":"…"}'],
    ['a URL', 'see https://hooks.example.com/T0/secret for more', 'see … for more'],
    ['a Slack token', 'bad token xoxb-12-ab', 'bad token …'],
    ['an echo of the body', `refused <<${body}>>`, 'refused <<…>>'],
    ['an echo of a part of the body', 'refused: certificate "ACME" has exp…', 'refused:……'],
    ['an echo as JSON', `{"got":${JSON.stringify(body)}}`, '{"got":…}'],
    ['a short recipient', 'no channel #ops here', 'no channel … here'],
  ])('masks %s', (_, text, expected) => expect(answerExcerpt(text, ['#ops', undefined, body])).toBe(expected));

  it.each([
    ['a name of few characters', 'unknown user 山田太郎', 'unknown user …', '山田太郎様、証明書の期限が切れます。'],
    ['such a name within a sentence', '宛先の山田太郎がない', '宛先の…がない', '拝啓 山田太郎様'],
    ['a name in Cyrillic', 'no such user: Иван', 'no such user: …', 'Здравствуйте, Иван!'],
    ['a name with one letter outside ASCII', 'no Müller here', 'no … here', 'Guten Tag Frau Müller,'],
    ['a name that JSON has escaped', '{"user":"\\u5c71\\u7530\\u592a\\u90ce"}', '{"user":"…"}', '山田太郎様'],
    ['a name with rare characters', 'unknown 𠮷田太郎!', 'unknown …!', '𠮷田太郎様'],
  ])('masks %s', (_, text, expected, body) => {
    expect(answerExcerpt(text, [undefined, 'Ihre Nachricht', body])).toBe(expected);
  });

  it.each([
    ['the local part', 'user taro.yamada unknown', 'user … unknown'],
    ['a part of it, in any case', 'mailbox of Yamada is full', 'mailbox of … is full'],
    ['the domain', 'no MX for tanaka-clinic.co.jp.', 'no MX for ….'],
    ['a label of it', 'tanaka-clinic is not accepted', '… is not accepted'],
  ])('masks what identifies the recipient: %s', (_, text, expected) => {
    expect(answerExcerpt(text, ['taro.yamada@tanaka-clinic.co.jp'])).toBe(expected);
  });

  it.each([
    ['with its sign', '#ops', 'channel #ops not found', 'channel … not found'],
    ['without it', '@taro', 'no taro here', 'no … here'],
    ['of two characters', '山田', 'ユーザー山田様は不在', 'ユーザー…様は不在'],
  ])('masks a short recipient %s', (_, recipient, text, expected) => {
    expect(answerExcerpt(text, [recipient])).toBe(expected);
  });

  it.each([
    ['in English', '{"error":"quota exceeded"}'],
    ['in Japanese', '送信上限を超えました'],
    ['with words of which the recipient’s are a part', 'operations stopped; taroyamada2 is no co. of jp'],
  ])('keeps what the provider says itself %s', (_, text) => {
    expect(answerExcerpt(text, ['#ops', body, 'ops', 'taro.yamada@x.co.jp', '証明書の期限'])).toBe(text);
  });

  it('masks what comes at the end of the longest body, in a few milliseconds', () => {
    const long = `${'Sehr geehrte Damen und Herren, 日本語の本文。 '.repeat(6_000)} secret: 42-17-99`;
    expect(long.length).toBeGreaterThan(200_000);
    const started = performance.now();
    expect(answerExcerpt('refused [secret: 42-17-99]', [long])).toBe('refused […]');
    expect(performance.now() - started).toBeLessThan(250);
  });

  it('takes no longer for a body of one character', () => {
    const started = performance.now();
    expect(answerExcerpt('x'.repeat(900), ['x'.repeat(250_000)])).toBe('…');
    expect(performance.now() - started).toBeLessThan(250);
  });

  it('shows no part of our values that the end of the window cuts off', () => {
    // The masked addresses make room, so that the end of the 900 characters that are looked at could be shown.
    const looked = 'someone@example.com '.repeat(44).padEnd(894, '.');
    const excerpt = answerExcerpt(`${looked}certificate "ACME" has expired`, [body]);
    expect(excerpt).toContain('… … …');
    expect(excerpt).not.toContain('cert');
  });

  it('has at most 450 characters', () => expect(answerExcerpt('x'.repeat(5_000), [])).toHaveLength(450));
});

describe('an id for providers', () => {
  it.each(['NL001', '0198c3f2-7a44-7cc0-9d4e-2f5b8d3a1c11', 'a_b-C'])('is %s itself', (id) => {
    expect(providerSafeId(id)).toBe(id);
  });

  it.each(['a.b', 'ログ1', 'a b', 'x'.repeat(300), ''])('takes only allowed characters in place of %j', (id) => {
    expect(providerSafeId(id)).toMatch(/^[\w-]{1,256}$/);
  });

  it('differs for two ids that differ only in replaced characters, and is the same each time', () => {
    expect(providerSafeId('a.b')).not.toBe(providerSafeId('a:b'));
    expect(providerSafeId('a.b')).toBe(providerSafeId('a.b'));
  });
});
