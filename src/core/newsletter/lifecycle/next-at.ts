import type { Email } from '../model/email.ts';
import type { Change } from '../model/ports.ts';

/** Partition of the active index: emails for which something has to be done. */
const ACTIVE = 'active';

/** The change, and when the clock has to look at the email again; undefined: nothing has to be done. */
export function withNextAt(
  set: Change<Email>['set'],
  next_at: string | undefined,
  remove: readonly (keyof Email)[] = [],
): Change<Email> {
  if (next_at === undefined) return { set, remove: [...remove, 'next_at', 'active'] };
  return { set: { ...set, next_at, active: ACTIVE }, remove };
}
