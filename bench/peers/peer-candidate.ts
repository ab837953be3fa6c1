import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import type { Candidate, RunningWorker } from './candidate.ts';
import type { PeerSettings } from './workers/worker-port.ts';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of a peer that obeys orders. */
interface PeerProcess {
  order(what: string, ids?: readonly string[]): Promise<unknown>;
  readonly child: ChildProcess;
}

/** A peer, with one process that queues and one that works. @param server its server's process */
export async function startPeer(settings: PeerSettings, server: number): Promise<Candidate> {
  const producer = await startProcess(settings);
  return {
    name: settings.peer,
    servers: [server],
    async enqueue(count) {
      await producer.order('clear');
      await producer.order(
        'enqueue',
        Array.from({ length: count }, () => randomUUID()),
      );
    },
    async start(): Promise<RunningWorker> {
      const worker = await startProcess(settings);
      await worker.order('work');
      return {
        cpu: async () => Number(await worker.order('cpu')),
        kill: () => end(worker, 'SIGKILL'),
        stop: () => end(worker, 'SIGKILL'),
      };
    },
    records: async () => Number(await producer.order('records')),
    stop: () => end(producer, 'SIGKILL'),
  };
}

async function startProcess(settings: PeerSettings): Promise<PeerProcess> {
  const child = fork(new URL('./workers/peer-process.ts', import.meta.url), [JSON.stringify(settings)], {
    execPath: pinnedNode(),
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const announced = new Promise<void>((resolve, reject) => {
    child.once('message', (said) => {
      if (typeof said === 'object' && said !== null && 'failed' in said) reject(new Error(String(said.failed)));
      else resolve();
    });
    child.once('exit', (code, signal) => reject(new Error(`${settings.peer} ended: ${signal ?? code}`)));
  });
  await announced;
  child.on('message', (message) => {
    const { id, value, error } = message as Answer;
    const open = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) open?.resolve(value);
    else open?.reject(new Error(`${settings.peer}: ${error}`));
  });
  let last = 0;
  return {
    child,
    order: (what, ids) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        child.send({ id, do: what, ...(ids && { ids }) });
      }),
  };
}

async function end({ child }: PeerProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}
