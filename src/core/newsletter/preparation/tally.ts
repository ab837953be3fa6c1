import type { Recipient } from '../model/batch.ts';
import type { EmailContent, Preparation } from '../model/email.ts';
import { type MergeUse, mergeUses, missingFields } from '../model/merge-fields.ts';
import type { PreparedCandidate } from './ports.ts';

/** What a pass over the members of an email counts: a million recipients make no objects. */
export type Tally = { -readonly [K in 'recipients' | 'excluded']: Preparation[K] } & {
  readonly [K in 'excluded_by_reason' | 'missing_fields']: Record<string, number>;
};

/** The uses of merge fields that a member may lack: one with a fallback is missing for nobody. */
export function neededUses(content: EmailContent): readonly MergeUse[] {
  return mergeUses(content).filter(({ fallback }) => fallback === undefined);
}

export function addOne(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Counts a candidate. @returns it as a recipient, although it may be excluded */
export function take({ member, identity, excluded }: PreparedCandidate, tally: Tally, uses: readonly MergeUse[]) {
  const { member_id, member_uuid } = member;
  const { email: member_email, name: member_name } = identity;
  const recipient: Recipient = {
    member_id,
    member_uuid,
    member_email,
    ...(member_name !== undefined && { member_name }),
  };
  tally.recipients += 1;
  if (excluded !== undefined) {
    tally.excluded += 1;
    addOne(tally.excluded_by_reason, excluded);
  } else for (const field of missingFields(uses, recipient)) addOne(tally.missing_fields, field);
  return recipient;
}

/** Why an email cannot be sent to the members that its pass found; undefined when it can. */
export function whyNotSent(
  { recipients, excluded, excluded_by_reason, missing_fields }: Tally,
  uses: readonly MergeUse[],
): string | undefined {
  if (recipients === 0) {
    return 'No member subscribes to this newsletter and matches the segment. Import members, or choose another segment.';
  }
  if (recipients === excluded) {
    const reasons = Object.entries(excluded_by_reason).map(([reason, count]) => `${count} ${reason}`);
    return (
      `Each of the ${recipients} members that subscribe to this newsletter and match the segment is excluded: ` +
      `${reasons.join(', ')}. Nobody is left to send to. Choose another segment.`
    );
  }
  const missing = uses.flatMap(({ field }) => {
    const count = missing_fields[field];
    return count === undefined ? [] : [{ field, count }];
  });
  const [first] = missing;
  if (first === undefined) return undefined;
  const number = (count: number) => count.toLocaleString('en');
  const all = missing.map(
    ({ field, count }) =>
      `The merge field {${field}} is missing for ${number(count)} of ${number(recipients - excluded)} members`,
  );
  return `${all.join('. ')}. Nothing was sent. Give it a fallback, as in {${first.field}, "there"}, or complete the members.`;
}
