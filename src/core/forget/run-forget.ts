import { successorId } from '../delivery/failover.ts';
import {
  asNotification,
  FALLBACK_COLUMNS,
  type ForeignRow,
  hasContent,
  type NotificationRow,
} from '../model/notification.ts';
import { stateOf } from '../model/row-state.ts';
import { epochMs } from '../model/time.ts';
import type { PageCursor } from '../model/work-index.ts';
import { scanSegments } from '../verify/scan-segments.ts';
import { Pace, type Page, SEGMENTS } from '../verify/verification.ts';
import { type ForgetDeps, forgetOne, type Names } from './forget-one.ts';
import { FORGET_PHASES, type ForgetState, type Later, newForget } from './forget-state.ts';

/** Whom a row, or a content, is for: the recipient themselves, or somebody else, and the recipient if that one fails. */
export type Whose = 'recipient' | 'fallback';

export interface FoundContent {
  readonly log_id: string;
  readonly whose: Whose;
  /** Of the notification, by which its successor is named. */
  readonly life?: number;
}

/** The tables of one tenant, as one recipient is looked for in them. */
export interface ForgetPorts extends ForgetDeps {
  readonly tenant_id: string;
  /** Every row that may be theirs: by the hash, or with a recipient that its writer put there and nobody has taken in. */
  readonly rowPage: (segment: number, after: PageCursor | null) => Promise<Page<ForeignRow>>;
  readonly whose: (row: ForeignRow) => Promise<Whose | undefined>;
  /** The contents that are theirs, each recipient decrypted: what has no row, or a row without the hash, is found, too. */
  readonly contentPage: (segment: number, after: PageCursor | null) => Promise<Page<FoundContent>>;
  readonly contentOf: (log_id: string) => Promise<Whose | undefined>;
  readonly eraseFallback: (log_id: string) => Promise<void>;
  /** Members with the address. Absent: the stage has no newsletters. */
  readonly members?: { find(): Promise<readonly string[]>; remove(member_id: string): Promise<void> };
  readonly names: Names;
}

export interface ForgetRun {
  readonly run_id: string;
  /** Counts only. */
  readonly dry_run: boolean;
  readonly rate: number;
  readonly pause: (ms: number) => Promise<void>;
  readonly isStopping: () => boolean;
  /** Called after each page, with the state from which another process goes on. */
  readonly onProgress?: (state: ForgetState) => void;
}

interface Work {
  readonly state: ForgetState;
  readonly ports: ForgetPorts;
  readonly run: ForgetRun;
  readonly pace: Pace;
}

/** Longer than a claim lasts, or a request to the API takes. */
const LATER_MS = 70_000;
const LOOKS = 3;
/** What was scanned longer ago may hold the recipient again. */
const RESUMED_MS = 3_600_000;

/**
 * Erases a recipient, from where the state is; each step may be repeated, so another process goes on after a death. What
 * came to the pages that an old state has behind it is found by another scan.
 */
export async function forget(state: ForgetState, ports: ForgetPorts, run: ForgetRun): Promise<void> {
  const { pause, rate } = run;
  const now = ports.clock();
  const isOld = now.getTime() - epochMs(state.started_at) > RESUMED_MS;
  const work: Work = { state, ports, run, pace: new Pace({ clock: ports.clock, pause, rate }) };
  await finish(work);
  if (state.phase !== 'done' || !isOld) return;
  const { phase, cursors, started_at, named, left } = newForget(now);
  Object.assign(state, { phase, cursors, started_at, named, left });
  await finish(work);
}

async function finish(work: Work): Promise<void> {
  const { state, ports, run } = work;
  const { isStopping } = run;
  const steps = {
    rows: () => scanSegments(work, ports.rowPage, each(takeRow, work)),
    contents: () => scanSegments(work, ports.contentPage, each(takeContent, work)),
  };
  while (state.phase !== 'done' && !isStopping()) {
    if (state.phase === 'rows' || state.phase === 'contents') await steps[state.phase]();
    else if (state.phase === 'members') await takeMembers(work);
    else await takeLater(work);
    if (isStopping()) return;
    state.phase = FORGET_PHASES[FORGET_PHASES.indexOf(state.phase) + 1] ?? 'done';
    state.cursors = Array<null>(SEGMENTS).fill(null);
    run.onProgress?.(state);
  }
}

const each =
  <T>(take: (item: T, work: Work) => Promise<void>, work: Work) =>
  async (items: readonly T[]) => {
    for (const item of items) await take(item, work);
  };

async function takeRow(row: ForeignRow, work: Work): Promise<void> {
  const { ports, run } = work;
  const whose = await ports.whose(row);
  if (whose === 'recipient') await takeNotification(String(row['log_id']), row, work);
  if (whose === 'fallback') {
    // Its writer named the recipient for the case that another one fails: nobody has taken the row in yet.
    const done = run.dry_run || (await ports.rows.change(asNotification(row), { set: {}, remove: FALLBACK }));
    const found = done ? undefined : await ports.rows.read(String(row['log_id']));
    if (found !== undefined) await takeRow({ ...found }, work);
    else work.state.fallbacks += 1;
    // Whoever was taking it in at the moment stores its content behind the scan.
    if (!run.dry_run) later(work.state, { log_id: String(row['log_id']), of: 'content', looks: 0 }, ports);
  }
}

/** Foreign columns, which leave the row when it is taken in. */
const FALLBACK = ['fallback_channel', ...FALLBACK_COLUMNS] as readonly string[] as readonly (keyof NotificationRow)[];

async function takeNotification(log_id: string, row: ForeignRow | undefined, work: Work): Promise<void> {
  const { state, ports, run } = work;
  if (ports.names(log_id)) state.named += 1;
  if (run.dry_run) {
    const known = row && (row['erased_at'] === undefined ? stateOf(asNotification(row), ports.clock()) : 'already');
    count(state, known ?? 'not_taken_in');
    return;
  }
  await forgetNow({ log_id, of: 'row', at: 0, looks: 0 }, work, row);
}

/** @param found the row as it was found; absent: its content has just been read, and is theirs */
async function forgetNow(one: Later, { state, ports, run }: Work, found?: ForeignRow): Promise<void> {
  const { log_id } = one;
  const { result, records, successor_log_id } = await forgetOne(log_id, run.run_id, ports.names, ports, found);
  state.records += records;
  // Whose it is now, its content says.
  if (result === 'another_life') return later(state, { log_id, of: 'content', looks: 0 }, ports);
  if (result === 'claimed' || result === 'changing') {
    if (one.looks + 1 < LOOKS) later(state, { ...one, of: 'row', looks: one.looks + 1 }, ports);
    else state.left += 1;
    return;
  }
  count(state, result);
  if (successor_log_id !== undefined) later(state, { log_id: successor_log_id, of: 'content', looks: 0 }, ports);
}

function count(state: ForgetState, what: string): void {
  state.notifications[what] = (state.notifications[what] ?? 0) + 1;
}

function later(state: ForgetState, one: Omit<Later, 'at'>, { clock }: ForgetPorts): void {
  state.later.push({ ...one, at: clock().getTime() + LATER_MS });
}

async function takeContent({ log_id, whose, life }: FoundContent, work: Work) {
  const { state, ports, run } = work;
  if (whose === 'fallback') {
    state.fallbacks += 1;
    if (!run.dry_run) await eraseFallback(log_id, life, work);
    return;
  }
  const row = await ports.rows.read(log_id);
  // Counted by the scan of the rows.
  if (run.dry_run && row !== undefined && (await ports.whose({ ...row })) === 'recipient') return;
  // Its writer has put in another recipient, whose content the indexer is about to store.
  const isReplaced = row !== undefined && hasContent(row);
  // As of the life that the content was found with.
  if (row !== undefined && !isReplaced) return takeNotification(log_id, { ...row, life }, work);
  if (isReplaced && run.dry_run) return;
  if (run.dry_run) state.contents_without_row += 1;
  else later(state, { log_id, of: 'content', looks: 0 }, ports);
}

async function eraseFallback(log_id: string, life: number | undefined, { state, ports }: Work): Promise<void> {
  await ports.eraseFallback(log_id);
  // Whoever was handing it on at the moment has copied it.
  later(state, { log_id: successorId(log_id, life), of: 'content', looks: 0 }, ports);
}

async function takeMembers({ state, ports, run }: Work): Promise<void> {
  for (const member_id of (await ports.members?.find()) ?? []) {
    if (!run.dry_run) await ports.members?.remove(member_id);
    state.members += 1;
  }
}

/**
 * Of a request that died before it put a row, no answer was given. Its key keeps the mark, so that a repeated request
 * stores nothing anew. One that is repeated at this moment has put its row by now, or puts it without content.
 */
async function forgetWithRow(one: Later, work: Work): Promise<void> {
  const { rows, erasable, tenant_id } = work.ports;
  const { log_id } = one;
  if ((await rows.read(log_id)) !== undefined) return forgetNow(one, work);
  await erasable.eraseContent({ log_id, tenant_id });
  if ((await rows.read(log_id)) !== undefined) return forgetNow(one, work);
  work.state.contents_without_row += 1;
}

/** Looked at together: their reads share calls. */
const AT_ONCE = 100;

/** They are in the order of their times. Their list is long where the recipient is the fallback of many. */
async function takeLater(work: Work): Promise<void> {
  const { state, ports, run } = work;
  while (state.later.length > 0 && !run.isStopping()) {
    const now = ports.clock().getTime();
    // A row may be listed twice; its second look follows the first.
    const due = new Map<string, Later>();
    for (const one of state.later.slice(0, AT_ONCE)) {
      if (one.at > now || due.has(one.log_id)) break;
      due.set(one.log_id, one);
    }
    if (due.size === 0) {
      await run.pause(Math.min((state.later[0]?.at ?? now) - now, 1_000));
      continue;
    }
    await Promise.all(
      [...due.values()].map(async (one) => {
        const whose = one.of === 'row' ? 'recipient' : await ports.contentOf(one.log_id);
        if (whose === 'recipient') await forgetWithRow(one, work);
        if (whose === 'fallback') await eraseFallback(one.log_id, (await ports.rows.read(one.log_id))?.life, work);
      }),
    );
    state.later.splice(0, due.size);
    run.onProgress?.(state);
  }
}
