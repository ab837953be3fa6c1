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
 * Sends by the account's budget. A call takes all its slots at once, so it begins with the middle one: at the first, it
 * would be ahead of the rate by as much as it holds, and with the slots that the budget keeps by a second's worth, which
 * is all that the provider forgives (decision 0117).
 */
export function createSendPacing(
  budget: AccountBudget,
  { clock, pause }: Pick<SendDeps, 'clock' | 'pause'>,
): SendPacing {
  return {
    async reserve(count) {
      const [answer] = await budget.reserve([{ key: 'account', count, use: 'newsletter' }]);
      const slots = (answer?.slots ?? []).toSorted((a, b) => a - b);
      const begin = slots[Math.floor(slots.length / 2)];
      const retry = answer?.waits.toSorted((a, b) => a - b)[0];
      const now = clock().getTime();
      if (begin !== undefined && begin > now) await pause(begin - now);
      return {
        granted: slots.length,
        ...(retry !== undefined && { retry_at: isoAfter(new Date(retry), 0) }),
      };
    },
    refused: (limit) => budget.exceeded(limit === 'quota' ? 'quota' : 'rate'),
  };
}
