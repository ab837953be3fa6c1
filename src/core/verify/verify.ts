import { isGone } from '../model/history-index.ts';
import { suspectLetters, verifyLetters } from './letters.ts';
import { recountEmail, verifyEmail, verifyNewsletters } from './newsletters.ts';
import { chooseForSample, recordsOf, verifyRecords } from './records.ts';
import {
  accountOf,
  fault,
  isLeftToItsWriter,
  isOnItsWay,
  rowViolations,
  type Stored,
  textOf,
} from './rules/row-rules.ts';
import {
  createdOf,
  found,
  isAskedFor,
  MOST_READS,
  NAMED,
  Pace,
  REREAD_AFTER_MS,
  type Run,
  readRows,
  SEGMENTS,
  type Suspect,
  suspect,
  VERIFY_PHASES,
  type Verification,
  type VerifyDeps,
} from './verification.ts';

/** Suspects in memory: when there are more, reading waits for the oldest. */
const MOST_SUSPECTS = 5_000;

/**
 * Goes through the phases that are left, until the end or until `isStopping`. A whole scan, because an index misses
 * exactly the rows that are lost. Memory holds one page per segment, the sample and the suspects, whatever the size of
 * the table. The state is consistent whenever `onProgress` gets it: each row is counted once, by however many processes.
 */
export async function verify(state: Verification, deps: VerifyDeps): Promise<void> {
  const run: Run = { state, deps, pace: new Pace(deps), looking: new Set() };
  while (state.phase !== 'done' && !deps.isStopping()) {
    // Read to its end before, by a process that was stopped while it waited to look again.
    const isRead = state.cursors.every((cursor) => cursor === 'end');
    if (!isRead) await WORK[state.phase](run);
    if (deps.isStopping()) break;
    await settle(run, { all: true });
    if (deps.isStopping()) break;
    state.phase = VERIFY_PHASES[VERIFY_PHASES.indexOf(state.phase) + 1] ?? 'done';
    state.cursors = Array<null>(SEGMENTS).fill(null);
    await deps.onProgress?.(state);
  }
}

/** Looks again at everything that is suspected, and reads nothing new: what is left of the state is small. */
export async function settleSuspects(state: Verification, deps: VerifyDeps): Promise<void> {
  await settle({ state, deps, pace: new Pace(deps), looking: new Set() }, { all: true });
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
  const rows = items.filter((row) => !isGone(row, now) && isAskedFor(state.asked, row, createdOf(row)));
  const astray = await withoutSuccessor(rows, run);
  const terms = await deps.terms();
  return () => {
    state.scanned += items.length;
    for (const row of rows) {
      const log_id = String(row['log_id']);
      chooseForSample(log_id, run);
      if (rowViolations(row, terms, now.getTime()).length > 0 || astray.has(log_id)) suspect(run, 'row', log_id);
      else countRow(row, run);
    }
  };
}

function countRow(row: Stored, { state, deps }: Run): void {
  const now = deps.clock().getTime();
  const account = accountOf(row, now) ?? (isOnItsWay(row, now) ? 'waiting' : undefined);
  if (account === undefined) state.lost += 1;
  else state.accounts[account] += 1;
  if (row['erased_at'] !== undefined) state.erased += 1;
  if (isLeftToItsWriter(row)) state.set_aside_in_clear += 1;
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

/**
 * Content is put before its row, so what a request left that died has none: it is counted, and breaks no rule. What says
 * when it was accepted is named, if it has no row a minute later either: its producer may have been answered.
 */
async function takeContents(items: readonly Stored[], run: Run): Promise<() => void> {
  const { state, deps } = run;
  const now = deps.clock();
  const own = items.filter((content) => !isGone(content, now) && isAskedFor(state.asked, content, undefined));
  const rows = await readRows(
    own.map(({ log_id }) => String(log_id)),
    run,
  );
  return () => {
    const stored = new Set(own.map(({ log_id }) => String(log_id)));
    state.sample.forEach((log_id, place) => {
      if (stored.has(log_id)) state.sampled_content[place] = true;
    });
    state.contents += own.length;
    const without = own.filter(({ log_id }) => !rows.has(String(log_id)));
    state.contents_without_row += without.length;
    for (const { log_id, tenant_id, accepted_at, erased_at } of without) {
      if (typeof accepted_at !== 'string' || erased_at !== undefined) continue;
      const accepted = { log_id: String(log_id), tenant_id: textOf(tenant_id), accepted_at };
      suspect(run, 'content', accepted.log_id, { accepted });
    }
  };
}

/** Looks again at what has been suspected for long enough. @param all waits until nothing is suspected any more */
async function settle(run: Run, { all = false } = {}): Promise<void> {
  const { state, deps, looking } = run;
  while (!deps.isStopping()) {
    const oldest = state.suspects.find((one) => !looking.has(one));
    if (oldest === undefined) return;
    const left = oldest.at + REREAD_AFTER_MS - deps.clock().getTime();
    if (left > 0 && !all && state.suspects.length < MOST_SUSPECTS) return;
    // In short pauses: somebody may stop it.
    if (left > 0) await deps.pause(Math.min(left, 1_000));
    else await lookAgain(run, deps.clock().getTime() - REREAD_AFTER_MS);
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
  const terms = await run.deps.terms();
  const counts: (() => void)[] = rows.map((row) => () => {
    const log_id = String(row['log_id']);
    const now = run.deps.clock().getTime();
    const gone = astray.has(log_id) ? [fault('1', `it goes on as ${row['successor_log_id']}, which is not there`)] : [];
    countRow(row, run);
    if (!isOnItsWay(row, now)) found(state, [...rowViolations(row, terms, now), ...gone], { log_id });
  });
  const there = await readRows(of('content'), run);
  for (const { id: log_id, accepted } of due.filter(({ of: kind, id }) => kind === 'content' && !there.has(id))) {
    const records = await run.deps.ports.records(log_id);
    counts.push(() => {
      if (records.items.length > 0)
        found(state, [fault('1', 'accepted and attempted, and its row is lost')], { log_id });
      else if (accepted && (state.accepted_without_row?.length ?? NAMED) < NAMED)
        state.accepted_without_row?.push(accepted);
    });
  }
  for (const log_id of of('records')) {
    const faults = await recordsOf(log_id, run);
    counts.push(() => found(state, faults, { log_id }));
  }
  for (const email_id of of('email')) {
    const email = await verifyEmail(email_id, run);
    counts.push(() => {
      recountEmail(email, run);
      if (email !== undefined) found(state, email.faults, { email_id });
    });
  }
  const channels = of('letters');
  if (channels.length > 0) counts.push(await verifyLetters(run, channels));
  for (const count of counts) count();
  state.suspects = state.suspects.filter((one) => !due.includes(one));
  for (const one of due) looking.delete(one);
}
