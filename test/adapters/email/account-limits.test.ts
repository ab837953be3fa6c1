import { expect, it } from 'vitest';
import { toLimits } from '../../../src/adapters/email/account-limits.ts';

const QUOTA = { MaxSendRate: 14, Max24HourSend: 50_000, SentLast24Hours: 120 };

it('reads what SES says about the account', () => {
  const account = {
    SendQuota: QUOTA,
    SendingEnabled: false,
    EnforcementStatus: 'PROBATION',
    ProductionAccessEnabled: false,
  };
  expect(toLimits(account)).toEqual({
    per_second: 14,
    max_24h: 50_000,
    sent_24h: 120,
    sending: false,
    enforcement: 'PROBATION',
    production: false,
  });
});

it('takes an account without more words for a healthy one, and -1 for no quota', () => {
  expect(toLimits({ SendQuota: { MaxSendRate: 1, Max24HourSend: -1 } })).toEqual({
    per_second: 1,
    sent_24h: 0,
    sending: true,
    enforcement: 'HEALTHY',
    production: true,
  });
});

it('keeps a quota of nothing: nothing may be sent', () => {
  expect(toLimits({ SendQuota: { ...QUOTA, Max24HourSend: 0 } })).toMatchObject({ max_24h: 0 });
});

it.each([undefined, {}, { MaxSendRate: 0 }, { MaxSendRate: -1 }, { MaxSendRate: Number.NaN }])(
  'refuses an answer without a rate, as an emulator gives: %j',
  (SendQuota) => {
    expect(() => toLimits({ ...(SendQuota && { SendQuota }) })).toThrow(
      /SendQuota\.MaxSendRate must be above 0, but is/,
    );
  },
);
