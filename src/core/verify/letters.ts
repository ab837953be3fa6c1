import { DAY_MS } from '../model/time.ts';
import { accountOf, type Fault, fault, type Stored, textOf } from './rules/row-rules.ts';
import {
  type Letter,
  REREAD_AFTER_MS,
  type Run,
  readRows,
  suspect,
  type Violation,
  found as violations,
} from './verification.ts';

interface Lacking extends Omit<Violation, keyof Fault> {
  readonly fault: Fault;
  readonly channel: string;
}

interface Compared {
  readonly faults: readonly Lacking[];
  readonly letters: Run['state']['letters'];
}

/** Compares the letters of all channels, and suspects those with too few. */
export async function suspectLetters(run: Run): Promise<void> {
  const { faults, letters } = await compare(run, run.deps.ports.letters.channels);
  Object.assign(run.state.letters, letters);
  for (const channel of new Set(faults.map((one) => one.channel))) suspect(run, 'letters', channel);
  run.state.cursors.fill('end');
}

/** @returns what counts the result */
export async function verifyLetters(run: Run, channels: readonly string[]): Promise<() => void> {
  const { faults, letters } = await compare(run, channels);
  return () => {
    Object.assign(run.state.letters, letters);
    for (const { fault, ...whose } of faults) violations(run.state, [fault], whose);
  };
}

const compare = (run: Run, channels: readonly string[]): Promise<Compared> =>
  run.state.asked.letters ? oneByOne(run, channels) : byCounts(run, channels);

/**
 * Every dead row has a letter, so a queue never holds fewer. It may hold more: stragglers of rows that moved on. What
 * died in the last minute may be on its way there, and what is in the lanes on its way there or back.
 */
async function byCounts(run: Run, channels: readonly string[]): Promise<Compared> {
  const { deps, state, pace } = run;
  const now = deps.clock().getTime();
  const dead: Record<string, number> = {};
  for await (const page of deps.ports.letters.dead()) {
    for (const entry of page.items) {
      const channel = textOf(entry['channel']);
      // The index says neither when the letter was queued: so early may it have been that SQS has dropped it.
      if (hasSettled(entry, now) && needsLetter(entry, now)) dead[channel] = (dead[channel] ?? 0) + 1;
    }
    await pace.spend(state, page);
  }
  const faults: Lacking[] = [];
  const letters: Compared['letters'] = {};
  for (const channel of channels) {
    const counts = { dead: dead[channel] ?? 0, ...(await deps.ports.letters.counts(channel)) };
    letters[channel] = counts;
    const missing = counts.dead - counts.letters - counts.on_the_way;
    if (missing > 0) faults.push({ fault: fault('11', `${counts.dead} dead, and ${counts.letters} letters`), channel });
  }
  return { faults, letters };
}

function hasSettled(dead: Stored, now: number): boolean {
  return Date.parse(textOf(dead['work_at'])) <= now - REREAD_AFTER_MS;
}

async function oneByOne(run: Run, channels: readonly string[]): Promise<Compared> {
  const { deps, state, pace } = run;
  const began = deps.clock().getTime();
  const found = new Map<string, readonly Letter[]>();
  const letters: Compared['letters'] = {};
  const walk = async (channel: string) => {
    // Before the letters are hidden.
    const { on_the_way } = await deps.ports.letters.counts(channel);
    let count = 0;
    for await (const some of deps.ports.letters.walk(channel)) {
      count += some.length;
      for (const letter of some) found.set(letter.log_id, [...(found.get(letter.log_id) ?? []), letter]);
    }
    letters[channel] = { dead: 0, letters: count, on_the_way };
  };
  await Promise.all(channels.map(walk));
  const missing: { readonly channel: string; readonly log_id: string }[] = [];
  for await (const page of deps.ports.letters.dead()) {
    await pace.spend(state, page);
    const own = page.items.filter((one) => channels.includes(textOf(one['channel'])) && hasSettled(one, began));
    const ids = own.map(({ log_id }) => String(log_id));
    for (const [log_id, row] of await readRows(ids, run)) {
      const channel = textOf(row['channel']);
      const counted = letters[channel];
      // Redriven meanwhile, or given up.
      if (accountOf(row, began) !== 'dead' || !hasSettled(row, began) || !needsLetter(row, began) || !counted) continue;
      counted.dead += 1;
      const has = found.get(log_id)?.some((letter) => isLetterOf(row, letter)) ?? false;
      if (!has) missing.push({ channel, log_id });
    }
  }
  const countOf = (channel: string) => missing.filter((one) => one.channel === channel).length;
  const certain = new Set(channels.filter((channel) => countOf(channel) > (letters[channel]?.on_the_way ?? 0)));
  const faults = missing.filter(({ channel }) => certain.has(channel));
  return { faults: faults.map((one) => ({ fault: fault('11', 'dead, without a letter'), ...one })), letters };
}

/** Whether the message can bring the dead row back: any other one of the notification is a straggler. */
function isLetterOf(row: Stored, { message_id, log_id, run_id }: Letter): boolean {
  return log_id === row['log_id'] && (message_id === row['dead_message_id'] || run_id === row['dead_run_id']);
}

/** The age, since it was first queued, at which SQS drops a message from a dead-letter queue. */
const LETTER_KEPT_MS = 14 * DAY_MS;
/** The longest time that a lane keeps a message: its letter may have been queued as long before its death. */
const LANE_KEPT_MS = 4 * DAY_MS;

/** Whether SQS must still hold the letter of a row that is dead. */
function needsLetter(row: Stored, now: number): boolean {
  const queued = textOf(row['dead_sent_at']) || textOf(row['dead_enqueued_at']);
  const since = queued === '' ? Date.parse(textOf(row['work_at'])) - LANE_KEPT_MS : Date.parse(queued);
  return since + LETTER_KEPT_MS > now;
}
