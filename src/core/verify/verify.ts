import { createdAt, isGone } from '../model/history-index.ts';
import { parseTime } from '../model/time.ts';
import { suspectLetters, verifyLetters } from './letters.ts';
import { countEmail, verifyEmail, verifyNewsletters } from './newsletters.ts';
import {
  accountOf,
  firstAttempt,
  isSetAsideInTheClear,
  recordFaults,
  rowFaults,
  type Stored,
  textOf,
} from './rules/row-rules.ts';
import {
  belongs,
  found,
  GRACE_MS,
  Pace,
  PHASES,
  type Run,
  SEGMENTS,
  type Suspect,
  suspect,
  type Verification,
  type VerifyDeps,
} from './verification.ts';

/** Suspects in memory: when there are more, reading waits for the oldest. */
const MOST_SUSPECTS = 5_000;
/** Notifications whose records are read at the same time. */
const AT_ONCE = 8;
const MOST_READS = 100;

/**
 * Goes through the phases that are left, until the end or until `isStopping`. A whole scan, because an index misses
 * exactly the rows that are lost. Memory holds one page per segment, the sample and the suspects, whatever the size of
 * the table. The state is consistent whenever `onProgress` gets it: each row is counted once, by however many processes.
 */
export async function verify(state: Verification, deps: VerifyDeps): Promise<void> {
  const run: Run = { state, deps, pace: new Pace(deps), looking: new Set() };
  while (state.phase !== 'done' && !deps.isStopping()) {
    await WORK[state.phase](run);
    if (deps.isStopping()) break;
    await settle(run, { all: true });
    if (deps.isStopping()) break;
    state.phase = PHASES[PHASES.indexOf(state.phase) + 1] ?? 'done';
    state.cursors = Array<null>(SEGMENTS).fill(null);
    await deps.onProgress?.(state);
  }
}

const WORK: Readonly<Record<Exclude<Verification['phase'], 'done'>, (run: Run) => Promise<void>>> = {
  rows: (run) => scan(run, run.deps.ports.rows.page, takeRows),
  contents: (run) => scan(run, run.deps.ports.contents.page, takeContents),
  records: verifyRecords,
  newsletters: verifyNewsletters,
  letters: suspectLetters,
};

type PageOf = VerifyDeps['ports']['rows']['page'];
/** Judges a page; what it returns counts it, at once with the cursor. */
type Take = (items: readonly Stored[], run: Run) => Promise<() => void>;

async function scan(run: Run, page: PageOf, take: Take): Promise<void> {
  const { state, deps, pace } = run;
  const segment = async (i: number) => {
    for (let after = state.cursors[i] ?? null; after !== 'end' && !deps.isStopping(); ) {
      const read = await page(i, after);
      const count = await take(read.items, run);
      count();
      after = read.next ?? 'end';
      state.cursors[i] = after;
      await deps.onProgress?.(state);
      await pace.spend(state, read);
      await settle(run);
    }
  };
  await Promise.all(Array.from({ length: SEGMENTS }, (_, i) => segment(i)));
}

async function takeRows(items: readonly Stored[], run: Run): Promise<() => void> {
  const { state, deps } = run;
  const now = deps.clock();
  const rows = items.filter((row) => !isGone(row, now) && belongs(state.asked, row, createdOf(row)));
  const astray = await withoutSuccessor(rows, run);
  return () => {
    state.scanned += items.length;
    for (const row of rows) {
      const log_id = String(row['log_id']);
      chooseForSample(log_id, run);
      if (rowFaults(row, deps.terms, now.getTime()).length > 0 || astray.has(log_id)) suspect(run, 'row', log_id);
      else countRow(row, run);
    }
  };
}

function countRow(row: Stored, { state, deps }: Run): void {
  const account = accountOf(row, deps.clock().getTime());
  if (account === undefined) state.lost += 1;
  else state.accounts[account] += 1;
  if (row['erased_at'] !== undefined) state.erased += 1;
  if (isSetAsideInTheClear(row)) state.set_aside_in_clear += 1;
}

/** Those that were handed on to a notification that is not there. */
async function withoutSuccessor(rows: readonly Stored[], run: Run): Promise<ReadonlySet<string>> {
  const handed = rows.filter((row) => accountOf(row, run.deps.clock().getTime()) === 'handed_on');
  const there = await readRows(
    handed.map((row) => String(row['successor_log_id'])),
    run,
  );
  return new Set(handed.flatMap((row) => (there.has(String(row['successor_log_id'])) ? [] : [String(row['log_id'])])));
}

async function readRows(log_ids: readonly string[], { state, deps, pace }: Run): Promise<Map<string, Stored>> {
  const rows = new Map<string, Stored>();
  for (let first = 0; first < log_ids.length; first += MOST_READS) {
    const read = await deps.ports.rows.read([...new Set(log_ids.slice(first, first + MOST_READS))]);
    for (const row of read.items) rows.set(String(row['log_id']), row);
    await pace.spend(state, read);
  }
  return rows;
}

/** A row may say in any form when it was created. */
function createdOf(row: Stored): string | undefined {
  return createdAt(row) || parseTime(textOf(row['created_at']))?.toISOString();
}

/** Each row that is read is in the sample with the same probability, however many there are (reservoir sampling). */
function chooseForSample(log_id: string, { state, deps }: Run): void {
  state.sampled_of += 1;
  const place =
    state.sample.length < state.asked.sample ? state.sample.length : Math.floor(deps.random() * state.sampled_of);
  if (place < state.asked.sample) state.sample[place] = log_id;
}

/** Content is put before its row, so what a request left that died has none: it is counted, and breaks no rule. */
async function takeContents(items: readonly Stored[], run: Run): Promise<() => void> {
  const { state, deps } = run;
  const now = deps.clock();
  const own = items.filter((content) => !isGone(content, now) && belongs(state.asked, content, undefined));
  const rows = await readRows(
    own.map(({ log_id }) => String(log_id)),
    run,
  );
  return () => {
    state.contents += own.length;
    state.contents_without_row += own.filter(({ log_id }) => !rows.has(String(log_id))).length;
  };
}

/** The sample shrinks as it is checked, so that another process goes on with the rest. */
async function verifyRecords(run: Run): Promise<void> {
  const { state, deps } = run;
  while (state.sample.length > 0 && !deps.isStopping()) {
    const some = state.sample.slice(-AT_ONCE);
    const faults = await Promise.all(some.map((log_id) => recordsOf(log_id, run)));
    state.sample.length -= some.length;
    state.records_checked += some.length;
    some.forEach((log_id, i) => {
      if ((faults[i] ?? []).length > 0) suspect(run, 'records', log_id);
    });
    await deps.onProgress?.(state);
  }
}

async function recordsOf(log_id: string, run: Run): Promise<readonly string[]> {
  const { state, deps, pace } = run;
  // Before the records: a record is written before its row says so, so every attempt that the row knows has its record.
  const row = (await readRows([log_id], run)).get(log_id);
  const records = await deps.ports.records(log_id);
  await pace.spend(state, records);
  return row === undefined ? [] : recordFaults(row, records.items, firstAttempt(row));
}

/** Looks again at what has been suspected for long enough. @param all waits until nothing is suspected any more */
async function settle(run: Run, { all = false } = {}): Promise<void> {
  const { state, deps, looking } = run;
  while (!deps.isStopping()) {
    const oldest = state.suspects.find((one) => !looking.has(one));
    if (oldest === undefined) return;
    const left = oldest.at + GRACE_MS - deps.clock().getTime();
    if (left > 0 && !all && state.suspects.length < MOST_SUSPECTS) return;
    // In short pauses: somebody may stop it.
    if (left > 0) await deps.pause(Math.min(left, 1_000));
    else await lookAgain(run, deps.clock().getTime() - GRACE_MS);
  }
}

/** Whoever goes on after this process looks at those again that are not counted yet. */
async function lookAgain(run: Run, until: number): Promise<void> {
  const { state, looking } = run;
  const due = state.suspects.filter((one) => one.at <= until && !looking.has(one)).slice(0, MOST_READS);
  for (const one of due) looking.add(one);
  const of = (kind: Suspect['of']) => due.filter((one) => one.of === kind).map(({ id }) => id);
  const rows = [...(await readRows(of('row'), run)).values()];
  const astray = await withoutSuccessor(rows, run);
  const counts: (() => void)[] = rows.map((row) => () => {
    const log_id = String(row['log_id']);
    const gone = astray.has(log_id) ? [`1: it goes on as ${row['successor_log_id']}, which is not there`] : [];
    countRow(row, run);
    found(state, [...rowFaults(row, run.deps.terms, run.deps.clock().getTime()), ...gone], { log_id });
  });
  for (const log_id of of('records')) {
    const faults = await recordsOf(log_id, run);
    counts.push(() => found(state, faults, { log_id }));
  }
  for (const email_id of of('email')) {
    const email = await verifyEmail(email_id, run);
    counts.push(() => {
      countEmail(email, run);
      found(state, email.faults, { email_id });
    });
  }
  const channels = of('letters');
  if (channels.length > 0) counts.push(await verifyLetters(run, channels));
  for (const count of counts) count();
  state.suspects = state.suspects.filter((one) => !due.includes(one));
  for (const one of due) looking.delete(one);
}
