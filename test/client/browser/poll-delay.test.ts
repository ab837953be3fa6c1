import { describe, expect, it } from 'vitest';
import { pollDelay } from '../../../src/client/browser/state/poll-delay.ts';
import { messageOf, type NotificationAnswer, TEXTS, textsFor } from '../../../src/client/browser/state/texts.ts';
import { PUBLIC_STATES } from '../../../src/core/intake/public-state.ts';
import { ERROR_TYPES } from '../../../src/core/model/error-types.ts';

const now = Date.parse('2026-11-22T10:00:00.000Z');
const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const delay = (answer: Partial<NotificationAnswer> | undefined, unchanged = 0) =>
  pollDelay(answer && { status: 'processing', canRetry: false, ...answer }, unchanged, { now, random: 0.5 });

describe('the next look at a notification', () => {
  it.each([
    ['soon while something happens', {}, 0, 1_000],
    ['rarer while nothing changes', {}, 3, 4_096],
    ['after half a minute at the latest', {}, 50, 30_000],
    ['when its retry is due', { status: 'retrying', next_retry_at: at(90) }, 9, 91_000],
    ['after five minutes at the latest', { status: 'retrying', next_retry_at: at(9_000) }, 0, 300_000],
    ['soon when its retry is overdue', { status: 'retrying', next_retry_at: at(-5) }, 0, 1_000],
    ['when it is scheduled', { status: 'saving', scheduled_at: at(60) }, 0, 61_000],
    ['seldom after a failure', { status: 'failed' }, 0, 30_000],
  ] as const)('comes %s', (_, answer, unchanged, ms) => expect(delay(answer, unchanged)).toBeCloseTo(ms, 3));

  it('never comes when it is done', () => expect(delay({ status: 'done' })).toBeUndefined());

  it.each([
    ['as late as Retry-After says', 20_000, 20_000],
    ['after five minutes, whatever Retry-After says', 31_536_000_000, 300_000],
    ['in its own time when Retry-After is shorter', 10, 1_000],
  ])('comes %s', (_, retryAfterMs, ms) => {
    const processing = { status: 'processing', canRetry: false } as const;
    expect(pollDelay(processing, 0, { now, random: 0.5, retryAfterMs })).toBe(ms);
  });

  it('comes ever later while the API does not answer', () => {
    expect([0, 1, 20].map((unchanged) => delay(undefined, unchanged))).toEqual([2_000, 3_200, 300_000]);
  });
});

describe('the texts', () => {
  it.each(['en', 'ja'] as const)('have a sentence for every state (%s)', (language) => {
    expect(Object.keys(TEXTS[language].states).sort()).toEqual([...PUBLIC_STATES].sort());
  });

  it('have every cause in Japanese, because the API’s own sentences are English', () => {
    expect(Object.keys(TEXTS.ja.causes ?? {}).sort()).toEqual([...ERROR_TYPES].sort());
  });

  it('say why it failed', () => {
    const failed = { status: 'failed', canRetry: true, error_type: 'EXPIRED', errorMessage: 'Too late.' } as const;
    expect(messageOf(failed, TEXTS.en)).toBe('Not sent. Too late.');
    expect(messageOf(failed, TEXTS.ja)).toBe('送信できませんでした。 送信できる期限を過ぎました。');
    expect(messageOf({ ...failed, successor_log_id: 'NL2' }, TEXTS.ja)).toContain('別のチャネル');
  });

  it('are those of the language, or of the page, or English', () => {
    const own = { ...TEXTS.en, retry: 'Encore' };
    expect(textsFor('ja-JP', {}).retry).toBe('再試行');
    expect(textsFor('fr-CA', { fr: own }).retry).toBe('Encore');
    expect(textsFor('en-GB', { en: own }).retry).toBe('Encore');
    expect(textsFor('__proto__', {}).retry).toBe('Try again');
  });
});
