import { isoAfter } from '../../model/time.ts';
import type { SendDeps, SendPacing } from './send-deps.ts';

/** The budget of the account that all e-mail goes through (design §13), as far as newsletters need it. */
interface AccountBudget {
  reserve(
    asks: readonly { readonly key: 'account'; readonly count: number; readonly use: 'newsletter' }[],
  ): Promise<readonly { readonly slots: readonly number[]; readonly waits: readonly number[] }[]>;
  exceeded(limit: 'rate' | 'quota'): Promise<void>;
}

/**
 * Sends by the account's budget. A call begins with the first of its slots: the provider lets a call exceed the rate and
 * makes it up afterwards, and the next call has its slots after those of this one.
 */
export function createSendPacing(
  budget: AccountBudget,
  { clock, pause }: Pick<SendDeps, 'clock' | 'pause'>,
): SendPacing {
  return {
    async reserve(count) {
      const [answer] = await budget.reserve([{ key: 'account', count, use: 'newsletter' }]);
      const [first] = answer?.slots ?? [];
      const retry = answer?.waits.toSorted((a, b) => a - b)[0];
      const now = clock().getTime();
      if (first !== undefined && first > now) await pause(first - now);
      return {
        granted: answer?.slots.length ?? 0,
        ...(retry !== undefined && { retry_at: isoAfter(new Date(retry), 0) }),
      };
    },
    refused: (limit) => budget.exceeded(limit === 'quota' ? 'quota' : 'rate'),
  };
}
