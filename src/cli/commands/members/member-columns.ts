import { memberEntries } from '../../../adapters/api/newsletter-schemas.ts';
import { parseTime } from '../../../core/model/time.ts';
import type { ExportedMember } from '../../../operator-service/members/members.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';

/** Columns of a file, and how the cells of a line become the fields of a member. Columns that it does not name are left out. */
export interface MemberColumns {
  /** Whose export it is, which knows no newsletter of ours; absent: ours. */
  readonly of?: 'Ghost' | 'listmonk';
  /** Whether a value may have line breaks, such as a note. */
  readonly multiline: boolean;
  /** Cells by column, in lower case, without the empty ones. A fault: the line is left out, and why. */
  toFields(cells: Readonly<Record<string, string>>): object | { readonly skipped: string };
}

const OWN_COLUMNS = Object.keys(memberEntries);

/** Our own columns. Several values in a cell are separated by semicolons; `\;` and `\\` belong to a value. */
const OWN: MemberColumns = {
  multiline: false,
  toFields: (cells) =>
    Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name, OWN_CELLS[name]?.(cell) ?? plain(cell)])),
};

const OWN_CELLS: Readonly<Record<string, (cell: string) => unknown>> = {
  labels: listIn,
  newsletters: listIn,
  unsubscribed: (cell) =>
    /^(true|false)$/i.test(cell)
      ? cell.toLowerCase() === 'true'
      : Object.fromEntries(listIn(cell).map((one) => split(one))),
  suppressed(cell) {
    const [reason, at] = split(cell);
    return { reason, at };
  },
};

/** Any other backslash stands for itself: people write files, too. */
function listIn(cell: string): string[] {
  const values = [''];
  for (const [token] of cell.matchAll(/\\[\\;]|[\s\S]/g)) {
    if (token === ';') values.push('');
    else values.push(`${values.pop()}${token.length === 2 ? token.slice(1) : token}`);
  }
  return values.map((one) => plain(one.trim())).filter(Boolean);
}

function split(text: string): readonly [string, string] {
  const at = text.lastIndexOf('@');
  return [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
}

/** What a spreadsheet would take for a formula is written with an apostrophe before it, by Ghost and by us. */
const FORMULA = /^[=+\-@\t]/;

function plain(cell: string): string {
  return cell.startsWith("'") && /^[=+\-@\t']/.test(cell.slice(1)) ? cell.slice(1) : cell;
}

/** As Ghost writes it: an apostrophe of the value's own has no other before it. */
function plainOfGhost(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell.slice(1)) ? cell.slice(1) : cell;
}

const isTrue = (cell: string | undefined) => /^true$/i.test(cell ?? '');

/** Ghost's export: Settings → Members → Export. Notes, tiers and gifts have no place here. */
const GHOST: MemberColumns = {
  of: 'Ghost',
  multiline: true,
  toFields({ id, email, name, subscribed_to_emails, complimentary_plan, stripe_customer_id, created_at, ...cells }) {
    if (cells['deleted_at'] !== undefined) return { skipped: 'deleted' };
    const status = isTrue(complimentary_plan) ? 'comped' : stripe_customer_id === undefined ? 'free' : 'paid';
    return {
      ...(id !== undefined && { member_id: id }),
      ...(email !== undefined && { email: plainOfGhost(email) }),
      ...(name !== undefined && { name: oneLine(plainOfGhost(name)) }),
      status,
      ...(cells['labels'] !== undefined && {
        labels: cells['labels']
          .split(',')
          .map((label) => plainOfGhost(label.trim()))
          .filter(Boolean),
      }),
      ...timeOf(created_at),
      ...(!isTrue(subscribed_to_emails) && { unsubscribed: true }),
    };
  },
};

/** listmonk's export: Subscribers → Export. `disabled` gets nothing there, `blocklisted` may get nothing for ever. */
const LISTMONK: MemberColumns = {
  of: 'listmonk',
  multiline: true,
  toFields({ uuid, email, name, status, created_at }) {
    return {
      ...(uuid !== undefined && { member_id: uuid }),
      email,
      ...(name !== undefined && { name: oneLine(name) }),
      ...timeOf(created_at),
      ...(status === 'disabled' && { unsubscribed: true }),
      ...(status === 'blocklisted' && { suppressed: true }),
    };
  },
};

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** PostgreSQL writes `2024-05-01 10:20:30.5+00`. What is no time is named as it is. */
function timeOf(cell: string | undefined): { readonly created_at?: string } {
  if (cell === undefined) return {};
  const iso = cell.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
  return { created_at: parseTime(iso)?.toISOString() ?? cell };
}

/** @param names of the header, in lower case. @throws OperatorError when they are nobody's columns */
export function columnsOf(names: readonly string[]): MemberColumns {
  const has = (...columns: readonly string[]) => columns.every((name) => names.includes(name));
  if (has('email', 'subscribed_to_emails')) return GHOST;
  if (has('uuid', 'email', 'attributes', 'status')) return LISTMONK;
  const known = `the columns are ${OWN_COLUMNS.join(', ')}, or those of an export of Ghost or listmonk`;
  // A person's address is not quoted.
  if (names.some((name) => name.includes('@'))) {
    throw new OperatorError(
      `Line 1 has an address, so it is no header: add a line above that names the columns; ${known}.`,
      EXIT_USAGE,
    );
  }
  const unknown = names.filter((name) => !OWN_COLUMNS.includes(name));
  if (unknown.length > 0) {
    throw new OperatorError(`Line 1 names unknown columns (${unknown.join(', ')}): ${known}.`, EXIT_USAGE);
  }
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined)
    throw new OperatorError(`Line 1 names the column ${repeated} twice: each has its place once.`, EXIT_USAGE);
  if (!names.includes('email')) throw new OperatorError(`Line 1 lacks the column email: ${known}.`, EXIT_USAGE);
  return OWN;
}

export const CSV_HEADER = 'member_id,email,name,status,labels,newsletters,created_at,unsubscribed,suppressed\r\n';

export function csvLine(member: ExportedMember): string {
  const {
    member_id,
    email,
    name = '',
    status,
    labels,
    newsletters,
    created_at,
    unsubscribed = {},
    suppressed,
  } = member;
  const list = (values: readonly string[]) => values.map((value) => safe(value).replaceAll(/[\\;]/g, '\\$&')).join(';');
  const cells = [
    ...[safe(member_id), safe(email), safe(name), status, list(labels), list(newsletters), created_at],
    Object.entries(unsubscribed)
      .map(([newsletter, at]) => safe(`${newsletter}@${at}`))
      .join(';'),
    suppressed === undefined ? '' : `${suppressed.reason}@${suppressed.at}`,
  ];
  return `${cells.map(quoted).join(',')}\r\n`;
}

const safe = (value: string): string => (FORMULA.test(value) || /^'[=+\-@\t']/.test(value) ? `'${value}` : value);

const quoted = (cell: string): string => (/[",\r\n;]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
