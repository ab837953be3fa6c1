import { GetAccountCommand, type GetAccountCommandOutput, SESv2Client } from '@aws-sdk/client-sesv2';
import type { AccountLimits } from '../../core/pacing/account.ts';

/** Milliseconds for GetAccount: its batch waits for it. */
const WITHIN_MS = 3_000;

/** By GetAccount, which SES answers once a second. */
export async function readAccountLimits(): Promise<AccountLimits> {
  const client = new SESv2Client({ maxAttempts: 1 });
  try {
    return toLimits(await client.send(new GetAccountCommand({}), { abortSignal: AbortSignal.timeout(WITHIN_MS) }));
  } finally {
    client.destroy();
  }
}

/** @throws Error when the answer has no rate, as that of an emulator */
export function toLimits(account: Omit<GetAccountCommandOutput, '$metadata'>): AccountLimits {
  const { SendQuota, SendingEnabled = true, EnforcementStatus = 'HEALTHY', ProductionAccessEnabled = true } = account;
  const { MaxSendRate, Max24HourSend, SentLast24Hours = 0 } = SendQuota ?? {};
  if (MaxSendRate === undefined || !(MaxSendRate > 0)) {
    throw new Error(`SES GetAccount: SendQuota.MaxSendRate must be above 0, but is ${String(MaxSendRate)}`);
  }
  return {
    per_second: MaxSendRate,
    // SES writes -1 for an account without a quota.
    ...(Max24HourSend !== undefined && Max24HourSend >= 0 && { max_24h: Max24HourSend }),
    sent_24h: SentLast24Hours,
    sending: SendingEnabled,
    enforcement: EnforcementStatus,
    production: ProductionAccessEnabled,
  };
}
