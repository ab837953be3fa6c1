import { describe, expect, it } from 'vitest';
import { SendingLimits } from '../../../src/local/providers/ses/sending-limits.ts';

const T0 = Date.parse('2026-03-01T10:30:00.000Z');

describe('the limits of the local SES', () => {
  it('take a second of the rate at once, and then as much as the rate allows', () => {
    const sending = new SendingLimits({ per_second: 20 }, T0);
    const accepted = (count: number, now: number) =>
      Array.from({ length: count }, () => sending.take(1, now)).filter((exceeded) => exceeded === undefined).length;
    expect(accepted(50, T0)).toBe(20);
    expect(accepted(50, T0 + 500)).toBe(10);
    expect(accepted(50, T0 + 60_000)).toBe(20);
    expect(sending.refused).toEqual({ rate: 100, quota: 0, paused: 0 });
  });

  it('accept a call that is larger than what is left, and refuse until that is paid back', () => {
    const sending = new SendingLimits({ per_second: 10 }, T0);
    expect(sending.take(50, T0)).toBeUndefined();
    expect(sending.take(1, T0 + 3_900)).toBe('rate');
    expect(sending.take(1, T0 + 4_200)).toBeUndefined();
  });

  it('count the last 24 hours', () => {
    const sending = new SendingLimits({ per_day: 100 }, T0);
    expect(sending.take(60, T0)).toBeUndefined();
    expect(sending.take(40, T0 + 3_600_000)).toBeUndefined();
    expect(sending.take(1, T0 + 3_600_000)).toBe('quota');
    expect(sending.sentIn24Hours(T0 + 86_460_000)).toBe(40);
    expect(sending.take(60, T0 + 86_460_000)).toBeUndefined();
  });

  it('accept nothing while sending is paused', () => {
    const sending = new SendingLimits({ sending: false }, T0);
    expect(sending.take(1, T0)).toBe('paused');
    sending.change({ sending: true });
    expect(sending.take(1, T0)).toBeUndefined();
  });
});
