import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pinnedNode } from '../../../src/local/processes/start-child.ts';
import type { Receiver } from '../setup/receiver.ts';
import { type Candidate, type RunningWorker, until } from './rounds.ts';

/** Seconds after which a worker is thought dead: under valgrind it is fifty times slower. */
export const SLOW_PATIENCE_SECONDS = 60;

/** Deliveries of the two runs; in their difference, nearly all code is compiled. */
const LEAST_COUNTED = 1_000;
export const MOST_COUNTED = 3_000;

/**
 * Instructions per delivered webhook, of the worker's process outside of the kernel, as valgrind counts them. Seconds of
 * CPU differ by a tenth with what else the machine does, instructions by a hundredth.
 */
export async function instructionsOf(candidate: Candidate, receiver: Receiver, home: string): Promise<number> {
  // All of ours are due at first.
  const all = await counted(MOST_COUNTED);
  return (all - (await counted(LEAST_COUNTED))) / (MOST_COUNTED - LEAST_COUNTED);

  async function counted(count: number): Promise<number> {
    receiver.reset();
    await candidate.enqueue(count);
    const log = join(home, `${candidate.name}-${count}.txt`);
    const worker = await underValgrind(home, log, () => candidate.start());
    await until(() => receiver.delivered() === count, receiver);
    if (receiver.delivered() !== count)
      throw new Error(`${candidate.name} delivered ${receiver.delivered()} of ${count}`);
    // The last outcomes are written after the last answer.
    await pause(3_000);
    for (const pid of worker.pids) process.kill(pid, 'SIGTERM');
    const refs = await countIn(log);
    await worker.stop();
    return refs;
  }
}

/** Starts a worker whose Node is a program that runs it in valgrind. Children are forked before the first wait. */
function underValgrind(home: string, log: string, start: () => Promise<RunningWorker>): Promise<RunningWorker> {
  const node = join(home, 'node-in-valgrind');
  // Compiled code changes while it runs, hence smc-check.
  const options = `--tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --smc-check=all-non-file --log-file='${log}'`;
  writeFileSync(node, `#!/bin/sh\nexec valgrind ${options} '${pinnedNode()}' "$@"\n`);
  chmodSync(node, 0o755);
  const usual = process.execPath;
  process.execPath = node;
  try {
    return start();
  } finally {
    process.execPath = usual;
  }
}

/** Valgrind tells the count when the process has ended. */
async function countIn(log: string): Promise<number> {
  for (let tries = 0; tries < 300; tries++) {
    const refs = existsSync(log) ? /I\s+refs:\s+([\d,]+)/.exec(readFileSync(log, 'utf8'))?.[1] : undefined;
    if (refs !== undefined) return Number(refs.replaceAll(',', ''));
    await pause(100);
  }
  throw new Error(`valgrind has counted nothing; its log is ${log}`);
}
