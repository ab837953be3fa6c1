import { successorId } from '../delivery/failover.ts';
import { isGone } from '../model/history-index.ts';
import { asNotification, type ForeignRow, hasContent, type RetryRecord } from '../model/notification.ts';
import { stateOf } from '../model/row-state.ts';
import { maskedWords } from '../model/text.ts';
import { isoBefore } from '../model/time.ts';
import { scanSegments } from '../verify/scan-segments.ts';
import { Pace, SEGMENTS } from '../verify/verification.ts';
import { decideRow } from './decide-row.ts';
import type { ContentItem, Pages, RestorePorts, RestoreRun } from './restore-state.ts';
import { type Asked, ask, RESTORE_PHASES, type RestoreState } from './restore-state.ts';
import type { Question, Restored } from './restored-states.ts';
import { asShown, type Survivors } from './survivors.ts';

type Work = { readonly state: RestoreState; readonly run: RestoreRun; readonly pace: Pace };

const AT_ONCE = 16;
const ROW_UNITS = 4;
/** The clocks of the API and of whoever named the time of the copy. */
const CLOCKS_APART_MS = 60_000;

/**
 * Copies what the deployed tables lack, from where the state is. What is there is newer, and stays. Each step may be
 * repeated: a process that was stopped, or a second command, finds what is done, and goes on.
 */
export async function restore(state: RestoreState, run: RestoreRun): Promise<void> {
  const work: Work = { state, run, pace: new Pace(run) };
  const isNew = state.scanned === 0;
  // Those since the time of the copy are lost, whatever the deployed table has by now.
  state.records_lost ||= run.ports.copies.records !== undefined;
  if (isNew)
    for (const [tenant_id, facts] of run.forgotten) ask(state, { why: 'forgotten', tenant_id, is_kept: false, facts });
  if (isNew) for (const facts of run.unnamed) ask(state, { why: 'unnamed', is_kept: false, facts });
  const { copies, deployed } = run.ports;
  const scan = async <T>(pages: Pages<T> | undefined, take: (items: readonly T[], work: Work) => Promise<number>) => {
    if (pages !== undefined) await scanSegments(work, pages, (items) => take(items, work));
  };
  const withoutRow = () => scan(deployed.contentPage, takeContentsWithoutRow);
  const withoutContent = () => scan(copies.contents && deployed.rowPage, takeRowsWithoutContent);
  const steps: Readonly<Record<Exclude<RestoreState['phase'], 'done'>, () => Promise<void>>> = {
    records: () => scan(copies.records, takeRecords),
    contents: () => scan(copies.contents, takeContents),
    rows: () => scan(copies.rows, takeRows),
    without_row: copies.rows === undefined ? withoutContent : withoutRow,
  };
  while (state.phase !== 'done' && !run.isStopping()) {
    await steps[state.phase]();
    if (run.isStopping()) return;
    state.phase = RESTORE_PHASES[RESTORE_PHASES.indexOf(state.phase) + 1] ?? 'done';
    state.cursors = Array<null>(SEGMENTS).fill(null);
    run.onProgress?.(state);
  }
}

async function takeRecords(records: readonly RetryRecord[], { state, run }: Work): Promise<number> {
  const { deployed, put } = run.ports;
  const kept = records.filter((one) => !isGone({ ...one }, run.clock()));
  const there = await deployed.records(kept);
  const missing = kept.filter(({ retry_log_id }) => !there.has(retry_log_id));
  const log_ids = [...new Set(missing.map(({ original_log_id }) => original_log_id))];
  const [contents, rows] = await Promise.all([deployed.contents(log_ids), deployed.rows(log_ids)]);
  for (const record of missing) {
    const row = rows.get(record.original_log_id);
    const { erased_at = row?.['erased_at'], life = row?.['life'] } = contents.get(record.original_log_id) ?? {};
    const { response_message: _, error_details: __, ...erased } = record;
    // Whoever corrected the recipient since had the former one masked.
    const masked = record.retry_attempt < Number(life ?? 0) ? { ...record, ...maskedWords(record) } : record;
    const words = erased_at === undefined ? masked : erased;
    if (!run.dry_run) await put.record(row === undefined ? words : asShown(words, asNotification(row)));
  }
  state.records.there += kept.length - missing.length;
  state.records.copied += missing.length;
  return missing.length + 2 * log_ids.length;
}

async function takeContents(items: readonly ContentItem[], { state, run }: Work): Promise<number> {
  const { deployed, put } = run.ports;
  const kept = items.filter((item) => !isGone(item, run.clock()));
  const there = await deployed.contents(kept.map(idOf));
  const missing = kept.filter((item) => !there.has(idOf(item)));
  const rows = await deployed.rows(missing.map(idOf));
  state.contents.there += kept.length - missing.length;
  for (const item of missing) {
    const row = rows.get(idOf(item));
    const erased_at = typeof row?.['erased_at'] === 'string' ? row['erased_at'] : undefined;
    // Sent by a row of a later life, or that comes back, it would go to the recipient that its writer has replaced.
    if (erased_at === undefined && Number(row?.['next_life'] ?? row?.['life'] ?? 0) > Number(item['life'] ?? 0)) {
      // With the log alive, all rows without a content are named at the end.
      if (run.ports.copies.rows !== undefined) askAbout(item, 'content_lost', state);
      continue;
    }
    if (!run.dry_run) await put.content(item, erased_at);
    state.contents[erased_at === undefined ? 'copied' : 'erased'] += 1;
  }
  return 2 * missing.length;
}

async function takeRows(copies: readonly ForeignRow[], work: Work): Promise<number> {
  const { state, run } = work;
  const there = await run.ports.deployed.rows(copies.map(idOf));
  const missing = copies.filter((copy) => !there.has(idOf(copy)));
  state.rows.there += copies.length - missing.length;
  for (let first = 0; first < missing.length; first += AT_ONCE) {
    const some = missing.slice(first, first + AT_ONCE);
    const decided = await Promise.all(some.map((copy) => decide(copy, work)));
    for (const [i, one] of decided.entries()) {
      await carryOut(one, some[i] ?? {}, work);
      if (one.do === 'leave_out') state.rows.expired += 1;
      if (one.do === 'put') state.rows[one.as] += 1;
    }
  }
  return ROW_UNITS * missing.length;
}

async function decide(copy: ForeignRow, { state, run }: Work): Promise<Restored> {
  const now = run.clock();
  const terms = { ...run, now, records_survived: !state.records_lost, forgotten: new Set(run.forgotten.keys()) };
  return decideRow(copy, await survivorsOf(copy, run.ports), terms);
}

async function survivorsOf(copy: ForeignRow, { either }: RestorePorts): Promise<Survivors> {
  const row = asNotification(copy);
  const [records, content] = await Promise.all([either.records(row.log_id), either.content(row.log_id)]);
  // What is shown to have arrived says no more that it had been given up.
  const mayGoOn = records.some((one) => one.failure_reason !== undefined || one.evidence !== undefined);
  if (row.fallback_channel === undefined || !mayGoOn) return { records, content };
  const next = successorId(row.log_id, Math.max(row.life ?? 0, content?.life ?? 0) || undefined);
  const there = await either.row(next);
  const survivors = { records: await either.records(next), content: await either.content(next) };
  return { records, content, successor: { ...(there && { row: asNotification(there) }), survivors } };
}

/** The row last: a process that dies before it finds the row missing once more. */
async function carryOut(decided: Restored, copy: ForeignRow, work: Work): Promise<void> {
  const { put } = work.run.ports;
  if (decided.do === 'leave_out') return;
  const { record, successor } = decided.with ?? {};
  if (successor !== undefined) await carryOut(successor, 'row' in successor ? (successor.row ?? {}) : {}, work);
  if (!work.run.dry_run) {
    if (record !== undefined) await put.record(record);
    if (decided.row !== undefined) await put.row(decided.row);
  }
  if (decided.do === 'ask') askAbout(copy, decided.why, work.state, decided.row !== undefined);
}

/** What was accepted, or written, since the time of the copy. What was there at that time without a row is none of it. */
async function takeContentsWithoutRow(items: readonly ContentItem[], work: Work): Promise<number> {
  const { state, run } = work;
  const { deployed, either } = run.ports;
  const kept = items.filter(
    (item) => !isGone(item, run.clock()) && item['erased_at'] === undefined && isSince(item, run),
  );
  const there = await deployed.rows(kept.map(idOf));
  const missing = kept.filter((item) => !there.has(idOf(item)));
  for (const item of missing) {
    if ((await either.row(idOf(item))) !== undefined) continue;
    const accepted = await run.ports.acceptedRow(item);
    if (accepted === undefined) {
      const records = await either.records(idOf(item));
      const isAccepted = item['accepted_at'] !== undefined;
      askAbout(item, isAccepted ? 'accepted_since' : 'written_since', state, false, {
        attempts: records.length,
        delivered: records.some((one) => one.retry_status === 'SUCCESS') ? 1 : 0,
      });
      continue;
    }
    const row = { ...accepted.row };
    if (accepted.record !== undefined && !run.dry_run) await run.ports.put.record(accepted.record);
    const decided = await decide(row, work);
    await carryOut(decided, row, work);
    if (decided.do === 'put') state.rows.accepted_since += 1;
  }
  return ROW_UNITS * missing.length;
}

/** A copy was there before; the content of a successor has no image, and its predecessor decides. */
function isSince(item: ContentItem, { restored_to }: RestoreRun): boolean {
  if (item['restored_at'] !== undefined) return false;
  const { accepted_at } = item;
  if (typeof accepted_at === 'string') return accepted_at >= isoBefore(restored_to, CLOCKS_APART_MS);
  return String(item['image_sequence'] ?? 0) !== '0';
}

/** With the log alive and its contents lost: what is still to be sent, and cannot be. */
async function takeRowsWithoutContent(rows: readonly ForeignRow[], { state, run }: Work): Promise<number> {
  const now = run.clock();
  const open = rows.filter((row) => !isGone(row, now) && needsContent(row, now));
  const contents = await run.ports.deployed.contents(open.map(idOf));
  for (const row of open.filter((one) => !contents.has(idOf(one)))) askAbout(row, 'content_lost', state, true);
  return open.length;
}

const OPEN: readonly unknown[] = ['due', 'waiting', 'claimed', 'abandoned', 'dead'];

function needsContent(row: ForeignRow, now: Date): boolean {
  return OPEN.includes(stateOf(asNotification(row), now)) && row['is_deleted'] !== true && !hasContent(row);
}

const idOf = (item: Readonly<Record<string, unknown>>): string => String(item['log_id']);

const FACTS = ['channel', 'priority', 'send_status', 'send_attempts', 'work_at', 'updated_at', 'accepted_at'] as const;

function askAbout(
  item: ContentItem,
  why: Question,
  state: RestoreState,
  is_kept = false,
  more: Asked['facts'] = {},
): void {
  const known = FACTS.flatMap((name) => (item[name] === undefined ? [] : [[name, String(item[name])]]));
  const { tenant_id } = item;
  const whose = typeof tenant_id === 'string' && { tenant_id };
  ask(state, { why, log_id: idOf(item), ...whose, is_kept, facts: { ...Object.fromEntries(known), ...more } });
}
