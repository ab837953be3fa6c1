import type { BudgetStatus } from '../../../core/pacing/budget-status.ts';
import { ago, table } from '../../../terminal/table.ts';
import type { Session } from '../../session/session.ts';

/** A table of the budgets that were used so far; empty if there are none. */
export function describeBudgets(budgets: readonly BudgetStatus[], { terminal }: Session, now: Date): string {
  if (budgets.length === 0) return '';
  const lines = table<BudgetStatus>(
    [
      { title: 'budget', of: ({ channel }) => channel },
      { title: 'per second', of: ({ per_second, busy_receivers }) => per_second ?? `${busy_receivers} receivers busy` },
      { title: 'allowed', of: ({ allowed_per_second }) => allowed_per_second ?? undefined },
      { title: 'sent in 24 h', of: sentOf },
      { title: 'account', of: accountOf },
      { title: 'read', of: ({ read_at }) => read_at && ago(read_at, now) },
      { title: 'paused', of: pausedOf },
      { title: 'waiting until', of: ({ waiting_until }) => waiting_until.express ?? waiting_until.standard },
    ],
    budgets,
    terminal.colors,
  );
  return `\n${lines}`;
}

function sentOf({ sent_24h, max_24h }: BudgetStatus): string | undefined {
  if (sent_24h === null) return undefined;
  return max_24h === null ? `${sent_24h}` : `${sent_24h} of ${max_24h}`;
}

function accountOf({ enforcement, sending, production }: BudgetStatus): string | undefined {
  if (enforcement === null) return undefined;
  return [enforcement, sending === false && 'sending paused', production === false && 'sandbox']
    .filter(Boolean)
    .join(', ');
}

function pausedOf({ paused }: BudgetStatus): string | undefined {
  const [first] = paused;
  return first && `${paused.map(({ use }) => use).join(', ')} until ${first.until}`;
}
