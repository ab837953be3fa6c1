import { setTimeout as pause } from 'node:timers/promises';
import { createRandom, type Draw } from '../../simulation/engine/virtual-time.ts';
import { median } from '../figure.ts';
import { markdownTable } from '../report.ts';
import { cpuOf } from './servers.ts';

/** A mail that a receiver took, and when, in milliseconds since the epoch. */
export interface Mail {
  readonly to: string;
  readonly at: number;
}

/** A system that sends a mailing to all its members. */
export interface MailingSystem {
  readonly name: string;
  /** Processes of its servers, and of its workers. */
  servers(): readonly number[];
  workers(): readonly number[];
  /** Has a new mailing sent. The one before has ended. */
  order(): Promise<void>;
  /** Kills what sends, with SIGKILL. It is started again at once. */
  kill(): Promise<void>;
  /** Mails of the mailing so far. */
  count(): Promise<number>;
  mails(): Promise<readonly Mail[]>;
  /** What it says itself; `uncertain`: recipients of whom it says that it does not know. */
  told(): Promise<{ ended: boolean; status: string; sent: number; uncertain: number }>;
}

/** Between two looks at what was received. */
const LOOK_MS = 50;
/** Between two looks at the processes, and between two questions to the system: both cost CPU. */
const SELDOM_MS = 1_000;
/** Longest time of a mailing without a mail: a dead sender of ours is noticed after 80 seconds. */
const STANDSTILL_MS = 300_000;
/** Calls of 50 are received at once, so a kill comes this much later at most: at any moment of what a call does. */
const LATER_MS = 500;
/** After its end a system may still learn what became of its last mails. */
const SETTLE_MS = 10_000;

export type KilledRound = Awaited<ReturnType<typeof measureMailing>>;

/**
 * Sends one mailing to all members, and kills the sender meanwhile.
 * @param seed of the moments: random points of the mailing, by mails received since the sender was last started
 */
export async function measureMailing(
  system: MailingSystem,
  { members, kills, seed }: { readonly members: number; readonly kills: number; readonly seed: number },
) {
  const draw = createRandom(seed, 'kills');
  const workers = cpuMeter(() => system.workers());
  const servers = cpuMeter(() => system.servers());
  const started = Date.now();
  await system.order();
  let [killed, last, changedAt, lookedAt] = [0, 0, started, started];
  /** @returns false when the mailing ended before */
  const until = async (received: number): Promise<boolean> => {
    for (;;) {
      const [count, now] = [await system.count(), Date.now()];
      if (count >= received) return true;
      if (count !== last) [last, changedAt] = [count, now];
      if (now - changedAt > STANDSTILL_MS) throw new Error(`${system.name} stands still at ${count} mails`);
      if (now - lookedAt > SELDOM_MS) {
        lookedAt = now;
        workers.look();
        if (now - changedAt > SELDOM_MS && (await system.told()).ended) return false;
      }
      await pause(LOOK_MS);
    }
  };
  for (const gap of gapsOf(members, kills, draw)) {
    if (!(await until(last + gap))) break;
    await pause(draw() * LATER_MS);
    workers.look();
    await system.kill();
    killed += 1;
    last = await system.count();
  }
  await until(Number.POSITIVE_INFINITY);
  const [worker_ms, server_ms] = [workers.look() / members, servers.look() / members];
  await pause(SETTLE_MS);
  const { ended: _, ...told } = await system.told();
  const mails = await system.mails();
  const lastAt = mails.reduce((latest, { at }) => Math.max(latest, at), started);
  return { killed, ...tally(mails, members), ...told, seconds: (lastAt - started) / 1000, worker_ms, server_ms };
}

/** The mails between two kills: the kills are at random points of the mailing. */
export function gapsOf(members: number, kills: number, draw: Draw): readonly number[] {
  const points = Array.from({ length: kills }, () => Math.floor(draw() * members)).sort((a, b) => a - b);
  return points.map((point, i) => point - (points[i - 1] ?? 0));
}

/** Of the recipients: who got the mail, who did not; and mails that somebody had got before. */
export function tally(mails: readonly Pick<Mail, 'to'>[], members: number) {
  const reached = new Set(mails.map(({ to }) => to)).size;
  return { reached, missed: members - reached, doubled: mails.length - reached };
}

/** Adds up the CPU of processes that come and go: of one that ended, what it had used at the last look. */
function cpuMeter(pids: () => readonly number[]) {
  const used = new Map<number, number>();
  const before = new Map(pids().map((pid) => [pid, cpuOf([pid])]));
  return {
    /** @returns milliseconds since the meter was made */
    look(): number {
      for (const pid of pids()) used.set(pid, Math.max(used.get(pid) ?? 0, cpuOf([pid]) - (before.get(pid) ?? 0)));
      return [...used.values()].reduce((sum, ms) => sum + ms, 0);
    },
  };
}

const COLUMNS = [
  ['kills', 'killed', 0],
  ['reached', 'reached', 0],
  ['missed', 'missed', 0],
  ['twice', 'doubled', 0],
  ['says sent', 'sent', 0],
  ['says uncertain', 'uncertain', 0],
  ['seconds', 'seconds', 1],
  ['worker CPU, ms', 'worker_ms', 2],
  ['server CPU, ms', 'server_ms', 2],
] as const;

/** The table of docs/benchmarks.md: medians of the rounds, CPU per member. */
export function renderMailings(results: Readonly<Record<string, readonly KilledRound[]>>): string {
  const rows = Object.entries(results).map(([name, rounds]) => [
    name,
    ...COLUMNS.map(([, of, digits]) => median(rounds.map((round) => round[of])).toFixed(digits)),
    [...new Set(rounds.map(({ status }) => status))].join(', '),
  ]);
  return markdownTable(['system', ...COLUMNS.map(([title]) => title), 'says'], rows);
}
