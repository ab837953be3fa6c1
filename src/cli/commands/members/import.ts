import { createReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import { BatchExecuteStatementCommand, BatchGetItemCommand } from '@aws-sdk/client-dynamodb';
import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { withDirectCalls } from '../../../adapters/direct-calls/direct-calls.ts';
import { refuseJapaneseEncodings } from '../../../adapters/member-files/lines.ts';
import { type LineFault, readMembers } from '../../../adapters/member-files/read-members.ts';
import { label } from '../../../application/contract/api/newsletters.ts';
import {
  type ImportSums,
  importRules,
  newslettersOf,
  previewedImport,
  withWindow,
} from '../../../application/members/import-file.ts';
import {
  checkedWindows,
  type ImportRules,
  type ImportWindow,
  storedInOrder,
  storeWindow,
} from '../../../application/members/import-members.ts';
import { type MemberAccess, memberAccess } from '../../../application/members/members.ts';
import { ExplainedError } from '../../../core/model/problem.ts';
import { FILE_STANDINGS, MEMBER_STATUSES } from '../../../core/newsletter/model/member.ts';
import { decisionOf } from '../../../core/operator/audit.ts';
import { type Chosen, choice, required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { type ImportJournal, importJournal, stoppedAfter } from '../../session/import-journal.ts';
import { openRejects, refuseSameFile } from '../../session/rejects-file.ts';
import { newsletterNotFound, onDeployment, type Session } from '../../session/session.ts';
import { formatOf, statOf } from './file-format.ts';

/** Windows that are stored at once: while one waits for storage, the next is sealed. */
const WINDOWS_AT_ONCE = 4;
/** Nearly all calls of an import: the SDK's CPU matters (docs/decisions/measured/cpu-and-rate.md#0167). */
const DIRECT_CALLS = { BatchGetItem: BatchGetItemCommand, BatchExecuteStatement: BatchExecuteStatementCommand };
/** Bad lines that are shown; all go to the file of rejects. */
const SHOWN_FAULTS = 20;

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const entry = v.object({
  /** Lines up to this number are stored, or named as bad. */
  line: count,
  created: count,
  changed: count,
  bad: count,
  /** Absent in the file of an older import. */
  skipped: v.optional(count, 0),
  unsubscribed: v.optional(count, 0),
  suppressed: v.optional(count, 0),
  /** Bytes of the file of rejects. */
  rejects: count,
});

type ImportState = v.InferOutput<typeof entry>;
const NOTHING_IMPORTED = v.parse(entry, { line: 0, created: 0, changed: 0, bad: 0, rejects: 0 });

const OPTIONS = {
  '--tenant <ID>': required(value('the tenant that gets the members', parseId)),
  '--newsletter <ID>': value('the newsletter that all of them subscribe to; not for our own export', parseId),
  '--status <S>': choice('status of lines without one', MEMBER_STATUSES),
  '--as <WHAT>': choice('what everybody in the file is, if the file does not say so', FILE_STANDINGS),
  '--label <L>': value('a label that all of them get; repeat the option for several', addLabel),
  '--dry-run': 'show what would be done, and which lines are invalid; store nothing',
  '--rejects <FILE>': 'write each invalid line to this file: number, column and rule, as JSON lines',
} as const;

export const addMembersImport = onDeployment({
  name: 'import',
  says: 'add or change members from a file of any length',
  args: { '<FILE>': 'a .csv file with a header, or a .jsonl file with one object per line' },
  options: OPTIONS,
  help: `
With --newsletter, exports of Ghost, listmonk, Mailchimp, Substack, beehiiv, Kit, Buttondown and Brevo are taken as they
are; so are files of \`members export\`. The columns of other files: member_id, email, name, status, labels,
newsletters, created_at, unsubscribed and suppressed; only email is required. Separate the values of a cell by
semicolons, commas or |. Without a member_id, the address identifies the member. If the file does not say who gets mail,
say so with --as: subscribed, unsubscribed (from --newsletter) or suppressed. An import only adds: labels and
subscriptions stay, and whoever unsubscribed stays unsubscribed. An invalid line is reported and does not stop the
others. Run the same command again to continue an interrupted import.

Example:
  npm run ops -- members import members.csv --tenant TENANT001 --newsletter weekly --rejects rejects.jsonl`,
  async run(session, options, [file = '']) {
    const stats = statOf(file);
    const { size, mtimeMs } = stats;
    const format = formatOf(file);
    // A pipe can be read only once.
    if (stats.isFile()) await refuseJapaneseEncodings(createReadStream(file));
    withDirectCalls(session.dynamodb, DIRECT_CALLS);
    const access = memberAccess(session);
    const rules = await rulesOf(options, access, session);
    const { tenant, newsletter, rejects, dryRun = false } = options;
    if (dryRun) return previewFrom(file, { format, rules, access }, session);
    refuseSameFile(file, rejects);
    const scope = { table: session.deployment.tables.members, file: resolve(file), size, mtimeMs, options };
    const journal = importJournal({ kind: 'members-import', directory: session.stateDirectory, entry }, scope, rejects);
    const interrupted = session.interruption();
    try {
      const answer = await session.decide(
        decisionOf({ what: 'member.import', on: [newsletter ?? tenant], details: { tenant } }, async () => {
          const given = { size, format, rules, access, rejects, journal, interrupted: interrupted.signal };
          const state = await importFrom(file, given, session);
          const { created, changed, bad } = state;
          return { answer: state, result: { created, changed, bad } };
        }),
      );
      return interrupted.exitCode() ?? report(session, answer, rejects);
    } finally {
      journal.release();
    }
  },
});

function addLabel(text: string, before: readonly string[] = []): readonly string[] {
  const { output, issues, success } = v.safeParse(label, text);
  if (!success) throw new InvalidArgumentError(`It ${issues[0].message}.`);
  return [...before, output];
}

/** Which lines are bad is said, and nothing stored, so that nothing has to be gone on with. */
async function previewFrom(
  file: string,
  { format, rules, access }: Pick<Import, 'format' | 'rules' | 'access'>,
  session: Session,
): Promise<number> {
  const found = await previewedImport(
    windowsIn(createReadStream(file), file, { format, rules, access }, 0),
    rules,
    access,
  );
  for (const fault of found.faults) session.terminal.say(`${describe(fault)}\n`);
  return report(session, found, undefined, { dry_run: true });
}

function windowsIn(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
  { format, rules, access }: Pick<Import, 'format' | 'rules' | 'access'>,
  after: number,
) {
  const { newsletter_id, as } = rules;
  return checkedWindows(
    readMembers(bytes, { format, file_name: basename(file), after, newsletter_id, as }),
    rules,
    access,
  );
}

interface Import {
  readonly size: number;
  readonly format: ReturnType<typeof formatOf>;
  readonly rules: ImportRules;
  readonly access: MemberAccess;
  readonly rejects: string | undefined;
  readonly journal: ImportJournal<ImportState>;
  readonly interrupted: AbortSignal;
}

async function importFrom(file: string, given: Import, session: Session): Promise<ImportState> {
  const { size, rules, access, rejects, journal, interrupted } = given;
  let state = journal.unfinished ?? NOTHING_IMPORTED;
  if (state.line > 0) session.terminal.say(`Continuing after line ${state.line}.\n`);
  const sink = rejects === undefined ? undefined : openRejects(rejects, state.rejects);
  if (sink !== undefined && sink.length < state.rejects) {
    session.terminal.say(`${rejects} is shorter than what was written to it before: only what follows is added.\n`);
    state = { ...state, rejects: sink.length };
  }
  const progress = showProgress(session);
  const bytes = createReadStream(file);
  try {
    const windows = windowsIn(bytes, file, given, state.line);
    const store = (window: ImportWindow) => storeWindow(window, rules, access);
    const stored = storedInOrder(windows, store, { at_once: WINDOWS_AT_ONCE, ended: interrupted });
    for await (const [window, result] of stored) {
      const { faults } = window;
      for (const fault of faults.slice(0, Math.max(0, SHOWN_FAULTS - state.bad))) progress.note(describe(fault));
      state = { ...withWindow(state, window, result), rejects: state.rejects + (sink?.write(faults) ?? 0) };
      // Last, so that what it says was done is done.
      journal.commit(state);
      const total = Math.ceil((state.line * size) / Math.max(1, bytes.bytesRead));
      progress.update({ verb: 'lines imported', done: state.line, total: Math.max(total, state.line) });
    }
  } catch (error) {
    progress.end();
    // A file that is wrong as a whole has to be mended first; its error says so.
    if (state.line > 0 || !(error instanceof ExplainedError)) session.terminal.say(stoppedAfter(`line ${state.line}`));
    throw error;
  } finally {
    progress.end();
    bytes.destroy();
  }
  if (interrupted.aborted) session.terminal.say(stoppedAfter(`line ${state.line}`));
  else journal.end();
  return state;
}

/** The members of the file are created + changed + bad + skipped. */
function report(
  session: Session,
  { line, created, changed, bad, skipped, unsubscribed, suppressed }: ImportSums,
  rejects: string | undefined,
  { dry_run }: { readonly dry_run?: true } = {},
): number {
  const counts = {
    ...(dry_run && { dry_run }),
    lines: line,
    created,
    changed,
    bad,
    ...(skipped > 0 && { skipped }),
    ...(unsubscribed > 0 && { unsubscribed }),
    ...(suppressed > 0 && { suppressed }),
  };
  printResult(session, counts, () => {
    const where = bad === 0 ? '' : rejects === undefined ? '; add --rejects to have all of them' : `; see ${rejects}`;
    const was = (count: number) => (count === 1 ? 'was' : 'were');
    const are = (count: number, thing: string) => (count === 1 ? `1 ${thing} is` : `${count} ${thing}s are`);
    const out = skipped > 0 ? ` ${are(skipped, 'line')} left out: deleted or not confirmed there.` : '';
    const decided = [`${unsubscribed} have unsubscribed`, `${suppressed} are suppressed`];
    const facts = unsubscribed + suppressed > 0 ? ` Of these, ${decided.join(', ')}.` : '';
    return `${are(created, 'member')} new, ${changed} ${was(changed)} known, ${are(bad, 'line')} bad${where}.${out}${facts}${dry_run ? ' Nothing was stored.' : ''}\n`;
  });
  return bad === 0 ? 0 : EXIT_FAILED;
}

async function rulesOf(
  { tenant, newsletter, status, as, label }: Chosen<typeof OPTIONS>,
  access: MemberAccess,
  session: Session,
): Promise<ImportRules> {
  const known = await newslettersOf({ tenant }, access);
  if (as === 'unsubscribed' && newsletter === undefined) {
    throw new OperatorError('--as unsubscribed needs --newsletter: the newsletter that they have left.', EXIT_USAGE);
  }
  if (newsletter !== undefined && !known.has(newsletter)) {
    throw newsletterNotFound(tenant, newsletter, session, [...known]);
  }
  return importRules({ tenant, newsletter, status, as, labels: label }, known);
}

function describe({ line, column, message }: LineFault): string {
  return `Line ${line}: ${column === '' ? 'it' : column} ${message}.`;
}
