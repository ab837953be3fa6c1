import { writeFileSync } from 'node:fs';

/** Words that the local SES obeys, by the place of a member among each 1,000. */
const SPECIAL: Readonly<Record<number, string>> = { 7: 'missing', 77: 'flaky-1', 177: 'bounce', 377: 'unanswered' };

/** The segments, which share no member and leave none out. */
export const STATUSES = ['free', 'paid', 'comped'] as const;

/** Writes a CSV of members. @returns the addresses by status */
export function writeMembers(file: string, count: number): ReadonlyMap<string, readonly string[]> {
  const members = Array.from({ length: count }, (_, i) => ({
    email: `${SPECIAL[i % 1_000] ?? 'reader'}+${i}@example.com`,
    name: i % 3 === 0 ? `Reader ${i}` : '',
    status: STATUSES[i % 3] ?? 'free',
  }));
  const lines = members.map(({ email, name, status }, i) => `m-${i},${email},${name},${status}`);
  writeFileSync(file, ['member_id,email,name,status', ...lines, ''].join('\n'));
  const byStatus = Map.groupBy(members, ({ status }) => status);
  return new Map([...byStatus].map(([status, some]) => [status, some.map(({ email }) => email)]));
}
