import type { GivenMember } from '../../core/newsletter/members/upsert-members.ts';

export const SAMPLE_NEWSLETTER = {
  tenant_id: 'TENANT001',
  newsletter_id: 'weekly',
  name: 'Weekly',
  from: 'Weekly <weekly@example.com>',
} as const;

export const SAMPLE_POST = {
  subject: 'This week, {first_name, "reader"} / 今週のお知らせ',
  format: 'markdown',
  body: `# This week

Dear {name, "reader"},

- the certificate exam is on **5 December**
- the report of November is [ready](https://example.com/reports/11)

<div data-gh-segment="status:free">Become a member: you would see the archive.</div>`,
} as const;

export const SAMPLE_MEMBERS = 300;

/** What becomes of some of the members; the others just get their mail. */
interface Fate {
  /** Their number, from the first member on that has none yet. */
  readonly count: number;
  /** Word in the address, which the local SES goes by (src/local/providers/ses/mail-outcome.ts). */
  readonly word?: string;
  /** An address that no mail can be sent to, or that of another member. */
  readonly address?: 'malformed' | 'repeated';
  readonly facts?: 'suppressed' | 'unsubscribed';
}

const FATES: readonly Fate[] = [
  { count: 40, word: 'open' },
  { count: 12, word: 'click' },
  { count: 4, word: 'bounce' },
  { count: 1, word: 'complaint' },
  { count: 2, word: 'missing' },
  { count: 3, word: 'flaky-1' },
  { count: 3, facts: 'suppressed' },
  { count: 2, facts: 'unsubscribed' },
  { count: 2, address: 'repeated' },
  { count: 2, address: 'malformed' },
];

export interface SampleMember extends GivenMember {
  readonly facts?: Fate['facts'];
}

/** Members of every kind: who reads, who cannot be reached, and who is excluded for each reason. */
export function sampleMembers(): readonly SampleMember[] {
  const fates = FATES.flatMap((fate) => Array.from({ length: fate.count }, () => fate));
  return Array.from({ length: SAMPLE_MEMBERS }, (_, i) => {
    const { word = 'reader', address, facts } = fates[i] ?? {};
    const number = address === 'repeated' ? SAMPLE_MEMBERS - 1 : i;
    const email = address === 'malformed' ? `reader ${i} at example` : `${word}+${number}@example.com`;
    return {
      member_id: `member-${String(i + 1).padStart(3, '0')}`,
      // Of two members with one address the first is the recipient.
      email: address === 'repeated' ? `reader+${number}@example.com` : email,
      ...(i % 3 === 0 && { name: `Reader ${i + 1}` }),
      status: i % 4 === 0 ? ('paid' as const) : ('free' as const),
      newsletters: [SAMPLE_NEWSLETTER.newsletter_id],
      ...(facts && { facts }),
    };
  });
}
