import type { GivenMember } from '../../core/newsletter/members/upsert-members.ts';
import { type Cells, flagIn, listIn, listOf, oneLine, plain, safe, timeIn, timeOr } from './cells.ts';
import type { Reading } from './foreign-format.ts';
import { saysLeft } from './opt-outs.ts';

type Column = keyof GivenMember;
const SAID: readonly Column[] = ['unsubscribed', 'suppressed'];
const OWN: readonly Column[] = ['member_id', 'email', 'name', 'status', 'labels', 'newsletters', 'created_at', ...SAID];
export const OWN_COLUMNS: readonly string[] = OWN;

/** Names that people give the columns. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  email: ['e-mail', 'mail', 'email address', 'e-mail address', 'email_address', 'メールアドレス', 'メール', 'eメール'],
  name: ['full name', '氏名', '名前', 'お名前'],
  labels: ['tags', 'タグ', 'ラベル'],
  created_at: ['登録日', '登録日時'],
  unsubscribed: ['配信停止', '停止', '購読解除'],
};

/** The column that a header means: ours, or the header as it is. */
export function columnNamed(header: string): string {
  const [column = header] = Object.entries(ALIASES).find(([, names]) => names.includes(header)) ?? [];
  return column;
}

const STATUSES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...Object.fromEntries(['active', 'enabled', 'subscribed', 'confirmed'].map((word) => [word, {}])),
  ...Object.fromEntries(['unsubscribed', 'unsub', 'opted out'].map((word) => [word, { unsubscribed: true }])),
  ...Object.fromEntries(
    ['cleaned', 'bounced', 'hard bounced'].map((word) => [word, { suppressed: { reason: 'bounced' } }]),
  ),
  complained: { suppressed: { reason: 'complained' } },
  ...Object.fromEntries(['blocklisted', 'blacklisted'].map((word) => [word, { suppressed: { reason: 'operator' } }])),
};

const REASONS: Readonly<Record<string, string>> = {
  bounce: 'bounced',
  bounced: 'bounced',
  cleaned: 'bounced',
  complaint: 'complained',
  complained: 'complained',
  spam: 'complained',
  operator: 'operator',
  blocklisted: 'operator',
  blacklisted: 'operator',
};

const READERS: Readonly<Record<string, (cell: string) => Readonly<Record<string, unknown>>>> = {
  // An edge of an id may be a blank, which its writer has quoted.
  member_id: (cell) => ({ member_id: plain(cell) }),
  email: (cell) => ({ email: plain(cell.trim()) }),
  name: (cell) => ({ name: plain(oneLine(cell)) }),
  labels: (cell) => ({ labels: listIn(cell).map((label) => label.normalize()) }),
  newsletters: (cell) => ({ newsletters: listIn(cell) }),
  created_at: (cell) => ({ created_at: timeOr(cell.trim()) }),
  status: (cell) => statusIn(cell.trim()),
  unsubscribed: (cell) => unsubscribedIn(cell.trim()),
  suppressed: (cell) => ({ suppressed: suppressedIn(cell.trim()) }),
};

/** Cells of our own columns, each as our export and people write it. */
export function readOwn(cells: Cells, columns: readonly string[]): Reading {
  const fields: Record<string, unknown> = {};
  for (const column of OWN_COLUMNS) {
    const cell = cells[column];
    for (const [field, value] of Object.entries(cell === undefined ? {} : (READERS[column]?.(cell) ?? {}))) {
      // Who left by one column stays away whatever another one says.
      if (value !== false || fields[field] === undefined) fields[field] = value;
    }
  }
  const isSaid = SAID.some((column) => columns.includes(column));
  const labels = isSaid ? [] : listIn(cells['labels'] ?? '');
  return labels.some(saysLeft) ? { ...fields, undecided: true } : fields;
}

/** What is none of these stays as it is, and the schema of a line names it. */
function statusIn(cell: string): Readonly<Record<string, unknown>> {
  const word = cell.toLowerCase();
  return STATUSES[word] ?? { status: word === 'free' || word === 'paid' || word === 'comped' ? word : cell };
}

function unsubscribedIn(cell: string): Readonly<Record<string, unknown>> {
  const flag = flagIn(cell);
  const left_at = timeIn(cell);
  if (flag !== undefined) return { unsubscribed: flag };
  if (left_at !== undefined) return { unsubscribed: true, left_at };
  const named = listIn(cell).map((one) => split(one));
  // A fault names the fields that are wrong, which must not be what somebody wrote.
  if (!named.every(([id]) => /^[A-Za-z0-9_-]{1,50}$/.test(id))) return { unsubscribed: cell };
  return { unsubscribed: Object.fromEntries(named.map(([id, at]) => [id, at === '' ? true : timeOr(at)])) };
}

function suppressedIn(cell: string): unknown {
  const flag = flagIn(cell);
  if (flag !== undefined) return flag;
  const time = timeIn(cell);
  if (time !== undefined) return { reason: 'operator', at: time };
  const [word, at] = split(cell);
  return { reason: REASONS[word.toLowerCase()] ?? word, ...(at !== '' && { at: timeOr(at) }) };
}

/** What stands before the last `@`, and after it. */
function split(text: string): readonly [string, string] {
  const at = text.lastIndexOf('@');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** A member of an export, with what is known of the address. */
export interface ExportedMember {
  readonly member_id: string;
  readonly email: string;
  readonly name?: string;
  readonly status: string;
  readonly labels: readonly string[];
  readonly newsletters: readonly string[];
  readonly created_at: string;
  readonly unsubscribed?: Readonly<Record<string, string>>;
  readonly suppressed?: { readonly reason: string; readonly at: string };
}

export const CSV_HEADER = 'member_id,email,name,status,labels,newsletters,created_at,unsubscribed,suppressed\r\n';

/** A line that read-members.ts reads as the same member. */
export function csvLine({ member_id, email, name = '', status, ...member }: ExportedMember): string {
  const { labels, newsletters, created_at, unsubscribed = {}, suppressed } = member;
  const left = Object.entries(unsubscribed).map(([newsletter, at]) => safe(`${newsletter}@${at}`));
  const cells = [
    ...[safe(member_id), safe(email), safe(name), status, listOf(labels), listOf(newsletters), created_at],
    ...[left.join(';'), suppressed === undefined ? '' : `${suppressed.reason}@${suppressed.at}`],
  ];
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** A blank at an edge is part of the value only in quotes. */
const quoted = (cell: string): string => (/[",\r\n;]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
