import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lookUp } from '../../src/client/browser/state/language.ts';
import { TEXTS, textsFor } from '../../src/client/browser/state/texts.ts';
import { apiBase, apiUrlFault } from '../../src/client/handover/api-url.ts';
import { settingsOf } from '../../src/client/settings.ts';
import { LANGUAGES } from '../corpus/client/languages.ts';
import { URLS } from '../corpus/client/urls.ts';

describe('a language (RFC 4647 §3.4)', () => {
  it.each(LANGUAGES)('$ranges of $tags: $why', ({ ranges, tags, tag }) => {
    expect(lookUp(ranges, tags)).toBe(tag);
    const texts = Object.fromEntries(tags.map((name) => [name, { ...TEXTS.en, retry: `texts of ${name}` }]));
    const shown = Object.keys(texts).length < tags.length || ranges.some((range) => /^(en|ja)/.test(range));
    if (!shown) expect(textsFor(ranges, texts).retry).toBe(tag === undefined ? 'Try again' : `texts of ${tag}`);
  });

  const subtag = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const tags = fc.array(fc.array(subtag, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('-')));
  const fits = (tag: string, range: string) => range === tag || (range.startsWith(`${tag}-`) && !/-[^-]$/.test(tag));

  it('is the longest tag that the range begins with, by whole subtags', () => {
    let found = 0;
    fc.assert(
      fc.property(tags, fc.array(subtag, { maxLength: 5 }), fc.nat(), (known, more, pick) => {
        const range = [...known.slice(pick % (known.length || 1), (pick % (known.length || 1)) + 1), ...more].join('-');
        const [longest] = known.filter((tag) => range !== '' && fits(tag, range)).sort((a, b) => b.length - a.length);
        expect(lookUp([range], known)).toBe(longest);
        if (longest !== undefined) found++;
      }),
      { numRuns: 500 },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('of the corpus is found in any case, and with anything behind it', () => {
    const found = LANGUAGES.filter(({ ranges, tag }) => ranges.length === 1 && tag !== undefined);
    const change = fc.record({ upper: fc.boolean(), posix: fc.boolean(), more: fc.array(subtag, { maxLength: 3 }) });
    fc.assert(
      fc.property(fc.constantFrom(...found), change, ({ tags: known, tag = '' }, { upper, posix, more }) => {
        const range = [tag.trim(), ...more].join(posix ? '_' : '-');
        const asked = upper ? range.toUpperCase() : range;
        expect(lookUp([asked], known)?.toLowerCase().startsWith(tag.toLowerCase())).toBe(true);
      }),
    );
  });

  it('may be any text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.array(fc.string()), (ranges, known) => {
        expect([undefined, ...known]).toContain(lookUp(ranges, known));
        expect(textsFor(ranges, {}).states.done).toMatch(/^(Sent\.|送信しました。)$/);
      }),
    );
  });
});

describe('the URL of the API', () => {
  const isTaken = (url: string) => {
    try {
      settingsOf({ url, apiKey: 'nrk_x' }, {});
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
      return false;
    }
  };
  const canBeCalled = (url: string) => {
    const { href } = new URL(new Request(`${apiBase(url)}/v1/notifications`).url);
    return href.endsWith('/v1/notifications') && new URL(href).host === new URL(url).host;
  };

  it.each(URLS)('$url: $fault', ({ url, fault }) => {
    expect(apiUrlFault(url)).toBe(fault);
    expect(isTaken(url)).toBe(fault === undefined);
    if (fault === undefined) expect(canBeCalled(url)).toBe(true);
    else expect(() => settingsOf({ url, apiKey: 'x' }, {})).toThrow(`url (NOTIFICATION_API_URL) ${fault}.`);
  });

  it('that is taken can be called, whatever is put into it', () => {
    const part = fc.oneof(fc.constantFrom('@', ':', ' ', '?', '#', '/', '\\', '\n', '%', '[', '..', 'é'), fc.string());
    let taken = 0;
    fc.assert(
      fc.property(fc.constantFrom(...URLS), fc.nat({ max: 30 }), part, ({ url }, at, inserted) => {
        const changed = url.slice(0, at) + inserted + url.slice(at);
        if (!isTaken(changed)) return;
        taken++;
        expect(canBeCalled(changed)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    expect(taken).toBeGreaterThan(50);
  });

  it('of a page may be relative to it', () => {
    const page = 'https://page.example/app/index.html?q#x';
    expect(apiUrlFault('/api/', page)).toBeUndefined();
    expect(apiBase('/api/', page)).toBe('https://page.example/api');
    expect(apiUrlFault('/api?x', page)).toMatch('no query');
    expect(apiUrlFault('/api', 'about:blank')).toMatch('http or https');
  });
});
