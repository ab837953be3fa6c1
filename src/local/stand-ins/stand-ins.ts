import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild } from '../processes/start-child.ts';
import type { Ports } from '../processes/tcp-ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { startDynamodb } from './dynamodb.ts';

export interface StandIns {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly ses: string;
  readonly pids: readonly number[];
  /** Resolves with what happened when a stand-in ends by itself. */
  readonly broken: Promise<string>;
}

export interface StandInOptions {
  readonly dataDir: string | undefined;
  readonly logs: string;
  readonly cacheDir: string;
  readonly ports: Ports;
  readonly teardown: Teardown;
}

/** Starts the three stand-ins side by side, each in a process of its own. */
export async function startStandIns({ dataDir, logs, cacheDir, ports, teardown }: StandInOptions): Promise<StandIns> {
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true });
  const started: { readonly name: string; readonly child: Child }[] = [];
  let expected = false;
  teardown.add('stand-ins', async () => {
    expected = true;
    await Promise.all(started.map(({ child }) => child.stop()));
  });
  const keep = async <T extends { readonly child: Child }>(name: string, starting: Promise<T>): Promise<T> => {
    const standIn = await starting;
    started.push({ name, child: standIn.child });
    return standIn;
  };
  // Waits for all three: when one fails, the teardown must know the others, which may still be starting.
  const [dynamodb, sqs, ses] = await Promise.allSettled([
    keep(
      'DynamoDB',
      ports.dynamodb
        .take()
        .then((port) => startDynamodb(dataDir, join(logs, 'dynamodb.log'), cacheDir, undefined, port)),
    ),
    keep(
      'SQS',
      ports.sqs.take().then((port) => startSqs(dataDir, join(logs, 'sqs.log'), port)),
    ),
    keep('SES', startSes(join(logs, 'ses.log'))),
  ]);
  if (dynamodb.status === 'rejected') throw dynamodb.reason;
  if (sqs.status === 'rejected') throw sqs.reason;
  if (ses.status === 'rejected') throw ses.reason;
  return {
    dynamodb: dynamodb.value.endpoint,
    sqs: sqs.value.endpoint,
    ses: ses.value.endpoint,
    pids: [...dynamodb.value.pids, sqs.value.child.pid, ses.value.child.pid],
    broken: new Promise((resolve) => {
      for (const { name, child } of started) {
        child.exited.then((how) => {
          if (!expected) resolve(`the ${name} stand-in ended: ${how}; see ${logs}`);
        });
      }
    }),
  };
}

/** A stand-in with its endpoint, the base of the queue URLs for SQS, without a slash at the end. */
export interface StandIn {
  readonly endpoint: string;
  readonly child: Child;
}

/** @param dataDir keeps queues and messages, those in flight too; undefined: in memory */
export function startSqs(dataDir: string | undefined, logFile: string, port = 0): Promise<StandIn> {
  const args = [String(port), ...(dataDir === undefined ? [] : [join(dataDir, 'sqs')])];
  return startServer('the SQS stand-in (fauxqs)', 'sqs-process.ts', args, logFile).catch((error) => {
    // Somebody may have taken the port while the process started.
    if (port === 0 || !String(error).includes('EADDRINUSE')) throw error;
    return startSqs(dataDir, logFile);
  });
}

/**
 * Starts the stand-in that stores e-mails. It accepts every mail; providers/ses/ simulates SES's answers and events.
 */
export function startSes(logFile: string): Promise<StandIn> {
  return startServer('the SES stand-in (aws-ses-v2-local)', 'ses-process.ts', [], logFile);
}

async function startServer(name: string, file: string, args: readonly string[], logFile: string): Promise<StandIn> {
  const child = await startChild({ name, entry: new URL(file, import.meta.url), args, logFile });
  return { endpoint: `http://127.0.0.1:${String(child.ready['port'])}`, child };
}
