import { describe, expect, it } from 'vitest';
import { allowanceOf, createWarming, WARM_UP_DAYS } from '../../../../src/core/newsletter/warming/domain-warming.ts';
import { createMemoryWarming } from '../../../../tools/simulation/twins/newsletter-items.ts';

const DOMAIN = 'news.example.com';

function warmedOn(day: string) {
  const time = { now: new Date(`${day}T12:00:00.000Z`) };
  const warming = createWarming(createMemoryWarming(), () => time.now);
  const today = () => time.now.toISOString().slice(0, 10);
  return {
    warming,
    on(next: string) {
      time.now = new Date(`${next}T12:00:00.000Z`);
    },
    /** A sender reserves as many mails and sends some of them, all unless it is said. */
    async send(wanted: number, sent?: number) {
      const granted = (await warming.reserve(DOMAIN, wanted, 'sender')) ?? Number.POSITIVE_INFINITY;
      const accepted = Math.min(granted, sent ?? granted);
      await warming.settle(DOMAIN, today(), { unused: granted - accepted, sent: accepted }, 'sender');
      return granted;
    },
  };
}

it('the curve of a sending domain grows from 200 to 200,000 over 42 days, then ends', () => {
  const days = Array.from({ length: WARM_UP_DAYS }, (_, step) => allowanceOf(step) ?? 0);
  expect([days[0], days.at(-1)]).toEqual([200, 200_000]);
  expect(days).toEqual([...days].sort((a, b) => a - b));
  expect(allowanceOf(WARM_UP_DAYS)).toBeUndefined();
});

describe('the allowance of a sending domain and day', () => {
  it('is one for all senders: what one has reserved, another does not get', async () => {
    const { warming } = warmedOn('2026-03-01');
    expect(await warming.reserve(DOMAIN, 150, 'sender-1')).toBe(150);
    expect(await warming.left(DOMAIN)).toBe(50);
    expect(await warming.reserve(DOMAIN, 150, 'sender-2')).toBe(50);
    expect(await warming.reserve(DOMAIN, 1, 'sender-3')).toBe(0);
    expect(await warming.reserve('other.example.com', 300, 'sender-4')).toBe(200);
  });

  it('is one for senders that reserve as much at the same moment', async () => {
    const { warming } = warmedOn('2026-03-01');
    const granted = await Promise.all([1, 2, 3].map((n) => warming.reserve(DOMAIN, 100, `sender-${n}`)));
    expect(granted.sort()).toEqual([0, 100, 100]);
  });

  it('takes back what a sender did not send, of that day only', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 200, 'sender');
    await warming.settle(DOMAIN, '2026-03-01', { unused: 180, sent: 20 }, 'sender');
    expect(await warming.left(DOMAIN)).toBe(180);
    on('2026-03-02');
    const left = await warming.left(DOMAIN);
    await warming.reserve(DOMAIN, 10, 'sender');
    await warming.settle(DOMAIN, '2026-03-01', { unused: 180, sent: 20 }, 'sender');
    expect(await warming.left(DOMAIN)).toBe((left ?? 0) - 10);
  });

  it('grows with each day, but for a day with many complaints or bounces', async () => {
    const { warming, on, send } = warmedOn('2026-03-01');
    await send(200);
    on('2026-03-02');
    expect(await send(1_000)).toBe(allowanceOf(1));
    await warming.report(DOMAIN, { bounced: 0, complained: 1 });
    on('2026-03-03');
    expect(await send(1_000)).toBe(allowanceOf(1));
    await warming.report(DOMAIN, { bounced: 1, complained: 0 });
    on('2026-03-04');
    expect(await send(1_000)).toBe(allowanceOf(2));
  });

  it('grows by the days between mails, but by a week at most: nobody gets used to a silent domain', async () => {
    const { warming, on, send } = warmedOn('2026-03-01');
    await send(200);
    on('2026-03-08');
    expect(await send(300)).toBe(300);
    on('2026-06-08');
    expect(await warming.left(DOMAIN)).toBe(allowanceOf(14));
  });

  it('does not grow by 43 days on which mails were reserved and every one refused', async () => {
    const { warming, on, send } = warmedOn('2026-03-01');
    for (let day = 0; day < 43; day++) {
      on(new Date(Date.parse('2026-03-01') + day * 86_400_000).toISOString().slice(0, 10));
      expect(await send(200, 0)).toBe(200);
    }
    expect(await warming.left(DOMAIN)).toBe(200);
  });

  it('does not grow after a day whose senders died with what they had reserved', async () => {
    const { warming, on } = warmedOn('2026-03-01');
    await warming.reserve(DOMAIN, 200, 'sender');
    on('2026-03-05');
    expect(await warming.left(DOMAIN)).toBe(allowanceOf(0));
  });

  it('does not grow at all after mails of which many were complained about, also days later', async () => {
    const { warming, on, send } = warmedOn('2026-03-01');
    await send(200);
    on('2026-03-03');
    await warming.report(DOMAIN, { bounced: 0, complained: 1 });
    on('2026-03-08');
    expect(await warming.left(DOMAIN)).toBe(allowanceOf(0));
  });

  it('ignores what is reported of a domain that is not warmed', async () => {
    const { warming } = warmedOn('2026-03-01');
    await warming.report(DOMAIN, { bounced: 5, complained: 5 });
    expect(await warming.left(DOMAIN)).toBe(200);
  });

  it('has no limit once mails went out for as many days as the curve has', async () => {
    const { warming, on, send } = warmedOn('2026-03-01');
    for (const day of ['2026-03-01', '2026-03-08', '2026-03-15', '2026-03-22', '2026-03-29', '2026-04-05']) {
      on(day);
      expect(await send(100)).toBe(100);
    }
    on('2026-04-12');
    expect(await warming.reserve(DOMAIN, 1_000_000, 'sender')).toBeUndefined();
    expect(await warming.left(DOMAIN)).toBeUndefined();
  });

  it('counts what emails reserved when they were prepared, as an earlier version stored it', async () => {
    const store = createMemoryWarming();
    const former = { domain: DOMAIN, version: 0, day: '2026-03-01', step: 0, bounced: 0, complained: 0 };
    await store.write({ ...former, reserved: { 'email-1': 150 } });
    let now = new Date('2026-03-01T12:00:00.000Z');
    const warming = createWarming(store, () => now);
    expect(await warming.left(DOMAIN)).toBe(50);
    expect(await warming.reserve(DOMAIN, 20, 'sender')).toBe(20);
    expect((await store.read(DOMAIN))?.reserved).toEqual({ 'email-1': 150, batches: 20 });
    now = new Date('2026-03-02T12:00:00.000Z');
    expect(await warming.left(DOMAIN)).toBe(allowanceOf(1));
  });
});
