import { MemberFileError } from '../../adapters/member-files/cells.ts';
import { refuseJapaneseEncodings } from '../../adapters/member-files/lines.ts';
import { fileFormat, type LineFault, readMembers } from '../../adapters/member-files/read-members.ts';
import { groupsOf } from '../../core/model/collections.ts';
import type { FileStanding, MemberStatus } from '../../core/newsletter/model/member.ts';
import type { MemberStore } from '../../core/newsletter/model/ports.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { invalid } from '../../http/check.ts';
import { checkedWindows, type ImportRules, type ImportWindow, storedInOrder, storeWindow } from './import-members.ts';
import type { MemberAccess } from './members.ts';

/** What holds for all members of a file. */
export interface ImportOptions {
  readonly tenant: string;
  readonly newsletter?: string | undefined;
  readonly status?: MemberStatus | undefined;
  readonly as?: FileStanding | undefined;
  readonly labels?: readonly string[] | undefined;
}

/** A file that is sent whole, as a page does. */
export interface SentFile extends ImportOptions {
  readonly file_name: string;
  /** Its bytes, in base64. */
  readonly content: string;
  /** Lines up to this number are stored already. */
  readonly after?: number | undefined;
}

/** Bad lines that an answer names. */
const MOST_FAULTS = 20;
/** How long a request stores, in milliseconds: the next one goes on. */
const STORES_MS = 8_000;
const WINDOWS_AT_ONCE = 4;

/** @param known the tenant's newsletters @throws Problem invalid-request */
export function importRules(
  { tenant, newsletter, status, as, labels = [] }: ImportOptions,
  known: ReadonlySet<string>,
): ImportRules {
  if (as === 'unsubscribed' && newsletter === undefined) {
    throw invalid([{ path: 'as', rule: 'newsletter', message: 'needs the newsletter that they have left' }]);
  }
  if (newsletter !== undefined && !known.has(newsletter)) {
    const message = `must be a newsletter of ${tenant}: it has ${[...known].join(', ') || 'none yet'}`;
    throw invalid([{ path: 'newsletter', rule: 'existing_newsletter', message }]);
  }
  return {
    tenant_id: tenant,
    ...(newsletter !== undefined && { newsletter_id: newsletter }),
    known,
    labels,
    ...(status && { status }),
    ...(as && { as }),
  };
}

/** What an import did with the lines so far, or would do: lines are created + changed + bad + skipped. */
export interface ImportSums {
  /** The last line that was looked at. */
  readonly line: number;
  readonly created: number;
  readonly changed: number;
  readonly bad: number;
  readonly skipped: number;
  readonly unsubscribed: number;
  readonly suppressed: number;
}

const NOTHING: ImportSums = { line: 0, created: 0, changed: 0, bad: 0, skipped: 0, unsubscribed: 0, suppressed: 0 };

/** Adds a window to the sums. @param stored the results of its members */
export function withWindow(
  sums: ImportSums,
  { line, faults, skipped, unsubscribed, members }: ImportWindow,
  { created, changed }: Pick<ImportSums, 'created' | 'changed'>,
): ImportSums {
  return {
    line,
    created: sums.created + created,
    changed: sums.changed + changed,
    bad: sums.bad + new Set(faults.map((fault) => fault.line)).size,
    skipped: sums.skipped + skipped,
    unsubscribed: sums.unsubscribed + unsubscribed,
    suppressed: sums.suppressed + members.filter(({ suppressed }) => suppressed !== undefined).length,
  };
}

/** What an import of these lines would do; it reads which members there are, and stores nothing. */
export async function previewedImport(
  windows: AsyncIterable<ImportWindow>,
  { tenant_id }: Pick<ImportRules, 'tenant_id'>,
  { members }: { readonly members: Pick<MemberStore, 'find'> },
) {
  let sums = NOTHING;
  const faults: LineFault[] = [];
  const met = new Set<string>();
  for await (const window of windows) {
    const ids = [...window.ids].filter((id) => !met.has(id));
    for (const id of ids) met.add(id);
    const found = await Promise.all(groupsOf(ids, 100).map((some) => members.find(tenant_id, some)));
    const created = found.reduce((sum, one) => sum - one.members.length, ids.length);
    sums = withWindow(sums, window, { created, changed: window.members.length - created });
    faults.push(...window.faults.slice(0, MOST_FAULTS - faults.length));
  }
  return { ...sums, faults };
}

/** @throws Problem invalid-request that says what is wrong with the file as a whole */
export async function previewFile(file: SentFile, access: MemberAccess) {
  const rules = importRules(file, await newslettersOf(file, access));
  return ofFile(async () => ({
    ...(await previewedImport(await windowsOf(file, rules, access), rules, access)),
    next: null,
  }));
}

/**
 * Stores as much of the file as one request may; `next` is the line after which the next request goes on. A repeated
 * request changes nothing, as an import only adds.
 */
export async function importFile(
  file: SentFile,
  access: MemberAccess,
): Promise<Decision<ImportSums & { readonly faults: readonly LineFault[]; readonly next: number | null }>> {
  const { tenant, newsletter } = file;
  const rules = importRules(file, await newslettersOf(file, access));
  const windows = await ofFile(() => windowsOf(file, rules, access));
  return decisionOf({ what: 'member.import', on: [newsletter ?? tenant], details: { tenant } }, async () => {
    const until = access.clock().getTime() + STORES_MS;
    const ended = new AbortController();
    let sums = NOTHING;
    const faults: LineFault[] = [];
    const store = (window: ImportWindow) => storeWindow(window, rules, access);
    await ofFile(async () => {
      const stored = storedInOrder(windows, store, { at_once: WINDOWS_AT_ONCE, ended: ended.signal });
      for await (const [window, result] of stored) {
        sums = withWindow(sums, window, result);
        faults.push(...window.faults.slice(0, MOST_FAULTS - faults.length));
        if (access.clock().getTime() >= until) ended.abort();
      }
    });
    const { created, changed, bad } = sums;
    const answer = { ...sums, faults, next: ended.signal.aborted ? sums.line : null };
    return { answer, result: { created, changed, bad } };
  });
}

export const newslettersOf = async ({ tenant }: ImportOptions, { newsletters }: Pick<MemberAccess, 'newsletters'>) =>
  new Set((await newsletters.list(tenant)).map(({ newsletter_id }) => newsletter_id));

async function windowsOf({ file_name, content, after = 0 }: SentFile, rules: ImportRules, access: MemberAccess) {
  const format = fileFormat(file_name);
  if (format === undefined) {
    const message = 'must end in .csv or .jsonl, which says how it is read';
    throw invalid([{ path: 'file_name', rule: 'format', message }]);
  }
  const bytes = Buffer.from(content, 'base64');
  await refuseJapaneseEncodings(piecesOf(bytes));
  const { newsletter_id, as } = rules;
  return checkedWindows(readMembers(piecesOf(bytes), { format, file_name, after, newsletter_id, as }), rules, access);
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What is wrong with the file is the caller's to mend. @throws Problem */
async function ofFile<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof MemberFileError)) throw error;
    throw invalid([
      { path: 'file', rule: 'members_file', message: `cannot be taken. ${error.message.replace(/\.$/, '')}` },
    ]);
  }
}
