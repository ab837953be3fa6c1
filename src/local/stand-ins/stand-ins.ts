import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from '../processes/start-child.ts';
import type { Ports } from '../processes/tcp-ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { startDynamodb } from './dynamodb.ts';
import { startSes } from './ses.ts';
import { startSqs } from './sqs.ts';

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
    keep('DynamoDB', startDynamodb(dataDir, join(logs, 'dynamodb.log'), cacheDir, undefined, ports.dynamodb)),
    keep('SQS', startSqs(dataDir, join(logs, 'sqs.log'), ports.sqs)),
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
