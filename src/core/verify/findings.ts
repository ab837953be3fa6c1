import { SUMMANDS } from './rules/newsletter-sums.ts';
import { ACCOUNTS } from './rules/row-rules.ts';
import type { Verification } from './verification.ts';

/** What a verification has found. */
export type Verified = ReturnType<typeof verified>;

export function verified(state: Verification) {
  const { accounts, lost, recipients, letters, violated, violations } = state;
  const { erased, set_aside_in_clear, emails, records_checked, contents, contents_without_row, started_at } = state;
  const { accepted_without_row = [] } = state;
  const parts = ACCOUNTS.map((name) => [name.replace('_', ' '), accounts[name]] as const);
  const accepted = parts.reduce((sum, [, count]) => sum + count, lost);
  const total = SUMMANDS.reduce((sum, name) => sum + recipients[name], 0);
  return {
    holds: violated === 0,
    /** What of the sum stands for nothing is left out. */
    equation: equation('accepted', accepted, [...parts, ['in none of these', lost]]),
    accepted,
    accounts,
    lost,
    erased,
    set_aside_in_clear,
    recipients: { total, ...recipients },
    emails,
    // The first 1,000 violations.
    letters,
    records_checked,
    contents,
    contents_without_row,
    accepted_without_row,
    violated,
    violations,
    started_at,
    read_units: Math.round(state.read_units),
  };
}

/** The sum of the notifications, and that of newsletters' recipients where there are any. */
export function equationsOf({ equation: accepted, emails, recipients: { total, ...states } }: Verified): string[] {
  const newsletters = () => equation(`recipients of ${emails} newsletters`, total, Object.entries(states));
  return [accepted, ...(emails > 0 ? [newsletters()] : [])];
}

/** `3 accepted = 2 delivered + 1 dead` */
function equation(what: string, sum: number, parts: readonly (readonly [string, number])[]): string {
  const counted = parts
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
  return `${sum.toLocaleString('en')} ${what} = ${counted.join(' + ') || '0'}`;
}
