import { CellFault, type Cells, oneLine, timeIn, timeOr } from './cells.ts';

/** What an export says of a person: may get mail, or why not. `unconfirmed` and `deleted` are no members. */
type Standing =
  | 'subscribed'
  | 'unsubscribed'
  | 'bounced'
  | 'complained'
  | 'blocked'
  | 'unconfirmed'
  | 'deleted'
  | 'unknown';

/**
 * Fields of a member before they are checked, or why the line is left out. `left_at`: when the member left --newsletter;
 * `undecided`: the line does not say whether the member gets mail.
 */
export type Reading = { readonly [field: string]: unknown } | { readonly skipped: string };

/** The export of another system, which knows no newsletter of ours: all of it is about --newsletter. */
export interface ForeignFormat {
  readonly of: string;
  /** Columns, in lower case, of which one set is in each header of the system. */
  readonly signs: readonly (readonly string[])[];
  /** Whether the file says of each person whether they get mail; else its operator has to. */
  readonly decides: (columns: readonly string[]) => boolean;
  /** What to do where it does not. */
  readonly advice?: string;
  readonly read: (cells: Cells, columns: readonly string[]) => Reading;
}

export const always = () => true;
export const never = () => false;

interface Person {
  readonly id?: string | undefined;
  readonly email: string | undefined;
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly created_at?: string | undefined;
  readonly standing: Standing;
  /** When the person left. */
  readonly at?: string | undefined;
}

export function memberOf({ id, email, name = '', status, labels, created_at, standing, at }: Person): Reading {
  if (standing === 'deleted') return { skipped: 'deleted' };
  if (standing === 'unconfirmed') return { skipped: 'not confirmed' };
  const time = at === undefined ? undefined : timeIn(at);
  const reason = standing === 'blocked' ? 'operator' : standing;
  return {
    ...(id !== undefined && { member_id: id }),
    ...(email !== undefined && { email }),
    ...(oneLine(name) !== '' && { name: oneLine(name) }),
    ...(status !== undefined && { status }),
    ...(labels !== undefined && { labels: labels.map((one) => one.normalize()) }),
    ...(created_at !== undefined && { created_at: timeOr(created_at) }),
    ...(standing === 'unsubscribed' && { unsubscribed: true, ...(time && { left_at: time }) }),
    ...(SUPPRESSED.includes(standing) && { suppressed: { reason, ...(time && { at: time }) } }),
    ...(standing === 'unknown' && { undecided: true }),
  };
}

const SUPPRESSED: readonly Standing[] = ['bounced', 'complained', 'blocked'];

/** What a column says that has a word for each standing. @throws CellFault where the word is none of the system's */
export function standingIn(cells: Cells, column: string, words: Readonly<Record<string, Standing>>): Standing {
  const cell = cells[column];
  const standing = cell === undefined ? 'subscribed' : words[cell.toLowerCase()];
  if (standing === undefined) throw new CellFault(column, `must be one of ${Object.keys(words).join(', ')}, or empty`);
  return standing;
}

export const fullName = (...names: readonly (string | undefined)[]) => names.filter(Boolean).join(' ');

export const statusBy = (isPaid: boolean, isGift: boolean) => (isGift ? 'comped' : isPaid ? 'paid' : 'free');
