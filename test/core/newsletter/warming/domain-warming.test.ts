import { describe, expect, it } from 'vitest';
import { createMemoryWarming } from '../../../../simulation/twins/newsletter-items.ts';
import { allowanceOf, createWarming, WARM_UP_DAYS } from '../../../../src/core/newsletter/warming/domain-warming.ts';

const DOMAIN = 'news.example.com';

function warmedOn(day: string) {
  const time = { now: new Date(`${day}T12:00:00.000Z`) };
  const warming = createWarming(createMemoryWarming(), () => time.now);
  const on = (next: string) => {
    time.now = new Date(`${next}T12:00:00.000Z`);
  };
  return { warming, on };
}

it('the curve of a sending domain grows from 200 to 200,000 over 42 days, then ends', () => {
  const days = Array.from({ length: WARM_UP_DAYS }, (_, step) => allowanceOf(step) ?? 0);
  expect([days[0], days.at(-1)]).toEqual([200, 200_000]);
  expect(days).toEqual([...days].sort((a, b) => a - b));
  expect(allowanceOf(WARM_UP_DAYS)).toBeUndefined();
});

describe('the allowance of a sending domain and day', () => {
  it('is one for all emails: what one has reserved, another does not get', async () => {
    const { warming } = warmedOn('2026-03-01');
    expect(await warming.reserve(DOMAIN, 'email-1', 150)).toBe(150);
    expect(await warming.reserve(DOMAIN, 'email-2', 150)).toBe(50);
    expect(await warming.reserve(DOMAIN, 'email-3', undefined)).toBe(0);
    expect(await warming.reserve('other.example.com', 'email-4', undefined)).toBe(200);
  });

  it('answers a repeated reservation like the first one', async () => {
    const { warming } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 150);
    expect(await warming.reserve(DOMAIN, 'email-1', 999)).toBe(150);
    expect(await warming.reserve(DOMAIN, 'email-2', undefined)).toBe(50);
  });

  it('takes back what an email did not use', async () => {
    const { warming } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', undefined);
    await warming.use(DOMAIN, 'email-1', 20);
    expect(await warming.reserve(DOMAIN, 'email-2', undefined)).toBe(180);
  });

  it('forgets what an email did not use at all: its next try on the same day gets its share', async () => {
    const { warming } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 150);
    await warming.use(DOMAIN, 'email-1', 0);
    expect(await warming.reserve(DOMAIN, 'email-1', 150)).toBe(150);
  });

  it('grows with each day, but for a day with many complaints or bounces', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 200);
    on('2026-03-02');
    expect(await warming.reserve(DOMAIN, 'email-2', undefined)).toBe(allowanceOf(1));
    await warming.report(DOMAIN, { bounced: 0, complained: 1 });
    on('2026-03-03');
    expect(await warming.reserve(DOMAIN, 'email-3', undefined)).toBe(allowanceOf(1));
    await warming.report(DOMAIN, { bounced: 1, complained: 0 });
    on('2026-03-04');
    expect(await warming.reserve(DOMAIN, 'email-4', undefined)).toBe(allowanceOf(2));
  });

  it('grows by the days between mails, but by a week at most: nobody gets used to a silent domain', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 200);
    on('2026-03-08');
    expect(await warming.reserve(DOMAIN, 'email-2', 300)).toBe(300);
    on('2026-06-08');
    expect(await warming.reserve(DOMAIN, 'email-3', undefined)).toBe(allowanceOf(14));
  });

  it('does not grow after a day whose allowance nobody used', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 200);
    await warming.use(DOMAIN, 'email-1', 0);
    on('2026-03-05');
    expect(await warming.reserve(DOMAIN, 'email-2', undefined)).toBe(allowanceOf(0));
  });

  it('does not grow at all after mails of which many were complained about, also days later', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 'email-1', 200);
    on('2026-03-03');
    await warming.report(DOMAIN, { bounced: 0, complained: 1 });
    on('2026-03-08');
    expect(await warming.reserve(DOMAIN, 'email-2', undefined)).toBe(allowanceOf(0));
  });

  it('ignores what is reported of a domain that is not warmed', async () => {
    const { warming } = warmedOn('2026-03-01');
    await warming.report(DOMAIN, { bounced: 5, complained: 5 });
    expect(await warming.reserve(DOMAIN, 'email-1', undefined)).toBe(200);
  });

  it('has no limit once mails went out for as many days as the curve has', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    for (const day of ['2026-03-01', '2026-03-08', '2026-03-15', '2026-03-22', '2026-03-29', '2026-04-05']) {
      on(day);
      expect(await warming.reserve(DOMAIN, day, 100)).toBe(100);
    }
    on('2026-04-12');
    expect(await warming.reserve(DOMAIN, 'email-2', 1_000_000)).toBeUndefined();
  });
});
