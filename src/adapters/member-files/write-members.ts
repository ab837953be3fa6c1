import { listOf, safe } from './cells.ts';

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
