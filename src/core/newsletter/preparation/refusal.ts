import type { Preparation } from '../model/email.ts';
import type { MergeUse } from '../model/merge-fields.ts';

/** Why an email cannot be sent to the members that its pass found; undefined when it can. */
export function refusalOf(
  {
    recipients,
    excluded,
    excluded_by_reason,
    missing_fields,
  }: Pick<Preparation, 'recipients' | 'excluded' | 'excluded_by_reason' | 'missing_fields'>,
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
  const missing = uses.flatMap(({ field, fallback }) => {
    const count = fallback === undefined ? missing_fields[field] : undefined;
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
