import { readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import * as v from 'valibot';
import { textOfFile } from '../../../adapters/content/text-encoding.ts';
import {
  type ImportCounts,
  type ImportFault,
  importWindow,
  NO_COUNTS,
  rowsIn,
} from '../../../application/import-rows.ts';
import { decisionOf } from '../../../core/operator/audit.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError, unreadableFile } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { type ImportJournal, importJournal, stoppedAfter } from '../../session/import-journal.ts';
import { openRejects, refuseSameFile } from '../../session/rejects-file.ts';
import { onDeployment, type Session } from '../../session/session.ts';

/** Rows that are put at once, and committed together. */
const WINDOW = 50;
/** Rules that are shown; all go to the file of rejects. */
const SHOWN_FAULTS = 20;
/** JSON is read as a whole, and takes several times its size in memory. */
const MAX_BYTES = 200 * 1024 * 1024;

const COUNTS = Object.keys(NO_COUNTS) as (keyof ImportCounts)[];
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const entry = v.object({
  /** Rows that are done, from the first on. */
  rows: count,
  counts: v.object(v.entriesFromList(COUNTS, count)),
  left_out: v.array(v.string()),
  rejects: count,
});
type ImportState = v.InferOutput<typeof entry>;
const NOTHING_IMPORTED: ImportState = { rows: 0, counts: NO_COUNTS, left_out: [], rejects: 0 };

const OPTIONS = {
  '--tenant <ID>': required(value('the tenant whose rows are imported, and that of rows that name none', parseId)),
  '--dry-run': 'show what would happen to each row; write nothing',
  '--rejects <FILE>': 'write each invalid row to this file: number, id, column and rule, as JSON lines',
} as const;

export const addRowsImport = onDeployment({
  name: 'import',
  says: 'import rows of the table document (HIS_NotificationLog) from an export of another database',
  args: { '<FILE>': 'a .json file with a list of rows, or one row per line' },
  options: OPTIONS,
  help: `
Rows are stored as their writer would store them: failed and pending ones are sent as their limits and times allow, so
use --dry-run first; delivered ones are kept for lookups. \`id\` is taken as log_id, NULL as absent; columns that are
not the table document's are left out. An invalid row is set aside and does not stop the others. Rows that exist stay
as they are, so the command can be repeated; after an interruption it continues where it stopped.

Example:
  npm run ops -- rows import his-notification-log.json --tenant TENANT001 --dry-run`,
  async run(session, options, [file = '']) {
    const { tenant, rejects, dryRun: dry_run = false } = options;
    const values = readRows(file);
    refuseSameFile(file, rejects);
    const { size, mtimeMs } = statSync(file);
    const table = session.deployment.tables.notification_log;
    const scope = { table, file: resolve(file), size, mtimeMs, tenant, dry_run, rejects };
    const journal = importJournal({ kind: 'rows-import', directory: session.stateDirectory, entry }, scope, rejects);
    const audit = { what: 'row.import', on: [tenant], details: { file: basename(file), rows: values.length } };
    const interrupted = session.interruption();
    try {
      const state = await session.decide(
        decisionOf(dry_run ? undefined : audit, async () => {
          const answer = await importFrom(values, { tenant, dry_run, rejects, journal, interrupted }, session);
          return { answer, result: { ...answer.counts } };
        }),
      );
      const { rows, counts, left_out } = state;
      printResult(session, { dry_run, rows, ...counts, left_out }, () => describe(state, { dry_run, rejects }));
      return interrupted.exitCode() ?? (counts.set_aside === 0 ? 0 : EXIT_FAILED);
    } finally {
      journal.release();
    }
  },
});

/** @throws OperatorError for a file that cannot be taken as a whole */
function readRows(file: string): readonly unknown[] {
  let bytes: Uint8Array;
  try {
    if (statSync(file).size > MAX_BYTES) throw wrong(`${file} is larger than 200 MB: split it.`);
    bytes = readFileSync(file);
  } catch (cause) {
    throw cause instanceof OperatorError ? cause : wrong(unreadableFile(file, cause));
  }
  const read = textOfFile(bytes);
  if ('fault' in read) throw wrong(`${file} ${read.fault}: save it in UTF-8.`);
  const rows = rowsIn(read.text);
  if ('fault' in rows) throw wrong(`${file} ${rows.fault}.`);
  return rows;
}

const wrong = (message: string) => new OperatorError(message, EXIT_USAGE);

interface Import {
  readonly tenant: string;
  readonly dry_run: boolean;
  readonly rejects: string | undefined;
  readonly journal: ImportJournal<ImportState>;
  readonly interrupted: ReturnType<Session['interruption']>;
}

async function importFrom(values: readonly unknown[], given: Import, session: Session): Promise<ImportState> {
  const { tenant, dry_run, rejects, journal, interrupted } = given;
  const request = { tenant, dry_run, planned: new Set<string>() };
  // A dry run begins anew: it has to have seen all ids of the file.
  let state = (dry_run ? undefined : journal.unfinished) ?? NOTHING_IMPORTED;
  if (state.rows > 0) session.terminal.say(`Continuing after row ${state.rows}.\n`);
  const sink = rejects === undefined ? undefined : openRejects(rejects, state.rejects);
  const progress = showProgress(session);
  try {
    while (state.rows < values.length && !interrupted.signal.aborted) {
      const window = values.slice(state.rows, state.rows + WINDOW);
      const { counts, faults, left_out } = await importWindow(window, state.rows + 1, request, session);
      for (const fault of faults.slice(0, Math.max(0, SHOWN_FAULTS - state.counts.set_aside)))
        progress.note(describeFault(fault));
      state = {
        rows: state.rows + window.length,
        counts: added(state.counts, counts),
        left_out: [...new Set([...state.left_out, ...left_out])].sort(),
        rejects: state.rejects + (sink?.write(faults) ?? 0),
      };
      // Last, so that what it says was done is done.
      if (!dry_run) journal.commit(state);
      progress.update({ verb: dry_run ? 'rows read' : 'rows imported', done: state.rows, total: values.length });
    }
  } catch (error) {
    progress.end();
    if (!dry_run) session.terminal.say(stoppedAfter(`row ${state.rows}`));
    throw error;
  } finally {
    progress.end();
  }
  if (state.rows === values.length) journal.end();
  else if (!dry_run) session.terminal.say(stoppedAfter(`row ${state.rows}`));
  return state;
}

function added(one: ImportCounts, other: ImportCounts): ImportCounts {
  return Object.fromEntries(COUNTS.map((name) => [name, one[name] + other[name]])) as Record<
    keyof ImportCounts,
    number
  >;
}

const describeFault = ({ row, log_id, column, rule, expected }: ImportFault): string =>
  `Row ${row}${log_id === undefined ? '' : ` (${log_id})`}: ${column === '' ? 'it' : column} breaks ${rule}: expected ${expected}.`;

function describe(
  { rows, counts, left_out }: ImportState,
  { dry_run, rejects }: { readonly dry_run: boolean; readonly rejects: string | undefined },
): string {
  const { sent, given_up, kept, known, of_other_tenants, set_aside } = counts;
  const where =
    set_aside === 0 ? '' : rejects === undefined ? '; add --rejects to have all of them' : `; see ${rejects}`;
  return [
    `${rows} rows read. ${dry_run ? 'It would import' : 'Imported'} ${sent + given_up + kept}: ${sent} to be sent, ` +
      `${given_up} given up by their limits, ${kept} kept for lookups.`,
    `${known} are there already, ${of_other_tenants} of other tenants, ${set_aside} set aside${where}.`,
    ...(left_out.length > 0 ? [`Columns that were left out: ${left_out.join(', ')}.`] : []),
    '',
  ].join('\n');
}
