import { setTimeout as pause } from 'node:timers/promises';
import type { Candidate } from './candidate.ts';
import { serverCpu } from './process-cpu.ts';
import type { PeersReceiver } from './receiver.ts';

export interface Round {
  /** Milliseconds of CPU per delivered webhook. */
  readonly worker_ms: number;
  readonly server_ms: number;
  /** Seconds from the start of the worker to the last delivery. */
  readonly seconds: number;
  readonly records: number;
}

/** What deaths of the worker cost. */
export interface Deaths {
  readonly killed: number;
  /** Webhooks that were not delivered when nothing moved any more. */
  readonly missing: number;
  /** Posts that the receiver took although it had taken that webhook before. */
  readonly doubled: number;
  readonly seconds: number;
}

/** After this time without a delivery nothing will be delivered: every system notices a crash within three seconds. */
const STANDSTILL_MS = 30_000;

/** Delivers all webhooks once. @throws Error when some are not delivered */
export async function measure(candidate: Candidate, receiver: PeersReceiver, count: number): Promise<Round> {
  receiver.reset();
  await candidate.enqueue(count);
  const before = serverCpu(candidate.servers);
  const started = Date.now();
  const worker = await candidate.start();
  try {
    await until(() => receiver.delivered() === count, receiver);
    const worker_us = await worker.cpu();
    const server_ms = serverCpu(candidate.servers) - before;
    if (receiver.delivered() !== count) {
      throw new Error(`${candidate.name} delivered ${receiver.delivered()} of ${count}`);
    }
    // The last outcomes are written after the last answer.
    await pause(500);
    return {
      worker_ms: worker_us / 1000 / count,
      server_ms: server_ms / count,
      seconds: (receiver.lastAt() - started) / 1000,
      records: await candidate.records(),
    };
  } finally {
    await worker.stop();
  }
}

/** Delivers all webhooks while the worker is killed, each time after the same share of them. */
export async function measureDeaths(
  candidate: Candidate,
  receiver: PeersReceiver,
  { count, kills }: { readonly count: number; readonly kills: number },
): Promise<Deaths> {
  receiver.reset();
  await candidate.enqueue(count);
  const started = Date.now();
  let worker = await candidate.start();
  let killed = 0;
  while (killed < kills) {
    const share = (count * (killed + 1)) / (kills + 2);
    await until(() => receiver.delivered() >= share, receiver);
    if (receiver.delivered() < share) break;
    await worker.kill();
    killed += 1;
    worker = await candidate.start();
  }
  await until(() => receiver.delivered() === count, receiver);
  const seconds = (receiver.lastAt() - started) / 1000;
  await worker.stop();
  return { killed, missing: count - receiver.delivered(), doubled: receiver.doubled(), seconds };
}

/** Waits until it holds, or until nothing has been delivered for a while. */
async function until(holds: () => boolean, receiver: PeersReceiver): Promise<void> {
  const began = Date.now();
  while (!holds()) {
    if (Date.now() - Math.max(began, receiver.lastAt()) > STANDSTILL_MS) return;
    await pause(5);
  }
}
