import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sendNext } from '../../src/client/browser/queue/send-next.ts';
import { pollDelay } from '../../src/client/browser/state/poll-delay.ts';
import { lookUp, TEXTS, textsFor } from '../../src/client/browser/state/texts.ts';
import { apiBase, apiUrlFault } from '../../src/client/handover/api-url.ts';
import { answerOf, type HandoverOutcome, outcomeOfAnswer } from '../../src/client/handover/retry-rules.ts';
import { settingsOf } from '../../src/client/settings.ts';
import { LANGUAGES } from '../corpus/client/languages.ts';
import { RETRY_AFTER } from '../corpus/client/retry-after.ts';
import { URLS } from '../corpus/client/urls.ts';
import { memoryEntries } from '../support/client/memory-entries.ts';

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

describe('Retry-After', () => {
  const NOW = new Date('2026-11-21T09:00:00.000Z');
  const read = async (header: string, date?: string) => {
    const headers = { ...(date !== undefined && { date }), 'retry-after': header };
    return (await answerOf(new Response('{}', { status: 429, headers }), NOW)).retryAfterMs;
  };

  it.each(RETRY_AFTER)('$header: $why', async ({ header, date, ms }) => {
    expect(await read(header, date)).toBe(ms);
  });

  it('of whoever answered holds no other entry for over five minutes, and none for over its time', async () => {
    const digits = fc.nat({ max: 400 }).map((length) => '9'.repeat(length));
    const seconds = fc.oneof(fc.nat().map(String), digits, fc.constantFrom('', ' ', 'e9', '.', '-', ' GMT'));
    const statuses = fc.constantFrom(408, 429, 500, 503);
    let long = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...RETRY_AFTER), seconds, statuses, async ({ header, date }, more, status) => {
        const retryAfterMs = await read(`${header}${more}`.trim(), date);
        if ((retryAfterMs ?? 0) > 300_000) long++;
        let [now, asked] = [NOW.getTime(), 0];
        const store = memoryEntries();
        const send = async () => (asked++ === 0 ? outcomeOfAnswer(status, {}, retryAfterMs) : ACCEPTED);
        const ports = { store, send, isOnline: () => true, emit: () => {}, now: () => now, random: () => 0.5 };
        const entry = { state: 'waiting', created_at: now, attempts: 0 } as const;
        const [first, other] = [
          await store.add({ ...entry, idempotency_key: 'first' }),
          await store.add({ ...entry, idempotency_key: 'other' }),
        ];
        const acceptedAt = new Map<number, number>();
        for (let step = 0; step < 10; step++) {
          const wait = await sendNext(ports);
          for (const { id, state } of await store.list())
            if (state === 'accepted' && !acceptedAt.has(id)) acceptedAt.set(id, now - NOW.getTime());
          now += wait ?? 0;
        }
        expect(acceptedAt.get(other.id)).toBeLessThanOrEqual(300_000);
        expect(acceptedAt.get(first.id)).toBeLessThan(72 * 3_600_000);
        const processing = { status: 'processing', canRetry: false } as const;
        const delay = pollDelay(processing, 0, {
          now,
          random: 0.5,
          ...(retryAfterMs !== undefined && { retryAfterMs }),
        });
        expect(delay).toBeLessThanOrEqual(300_000);
      }),
      { numRuns: 300 },
    );
    expect(long).toBeGreaterThan(30);
  });
});

const ACCEPTED: HandoverOutcome = { state: 'accepted', log_id: 'NL', repeat: false };

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
