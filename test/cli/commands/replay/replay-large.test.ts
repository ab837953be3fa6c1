import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import { deadRow, type Operations, startOperations, stoppedRow } from '../../../support/cli/operations.ts';
import { PROJECT_ROOT } from '../../../support/project-root.ts';

/** REPLAY_ROWS=10000 runs the full test. */
const ROWS = Number(process.env['REPLAY_ROWS'] ?? 600);
const COMMAND = join(PROJECT_ROOT, 'src', 'cli', 'main.ts');
/** Far less than all the rows need, SDK and compiler included. */
const HEAP_MB = 56;

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
  const { clients, tables, lane_queues, dead_letter_queues, newsletter_queues } = ops.deployment;
  const limits = { urgent: 1, important: 1, normal: 1, info: 1 };
  mkdirSync(join(ops.directory, '.local'));
  writeFileSync(
    join(ops.directory, '.local', 'endpoints.json'),
    JSON.stringify({
      pid: process.pid,
      region: clients.sqs.region,
      endpoints: { dynamodb: clients.dynamodb.endpoint, sqs: clients.sqs.endpoint, api: clients.sqs.endpoint },
      tables,
      queues: Object.fromEntries(
        CHANNELS.map((channel) => [channel, { ...lane_queues[channel], dead_letter: dead_letter_queues[channel] }]),
      ),
      stack: {
        SweepIntervalSeconds: '3600',
        RetryPolicy: JSON.stringify({ base_interval_seconds: 300, max_retries: limits, retention_hours: limits }),
        NewsletterQueues: JSON.stringify(newsletter_queues),
      },
      secrets_file: join(ops.directory, 'secrets.json'),
    }),
  );
}, 60_000);
afterAll(() => ops.stop());

function start(...args: string[]): ChildProcess {
  const command = [`--max-old-space-size=${HEAP_MB}`, COMMAND, 'replay', ...args, '--local', '--json'];
  return spawn(process.execPath, command, { cwd: ops.directory });
}

async function answer(child: ChildProcess): Promise<Record<string, unknown>> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (text: Buffer) => {
    out += text;
  });
  child.stderr?.on('data', (text: Buffer) => {
    err += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`replay ended with ${code}: ${err}`);
  return JSON.parse(out);
}

it(
  `of ${ROWS} rows does what its dry run says in bounded memory, also when it is killed and started again`,
  async () => {
    const kinds = [deadRow, deadRow, deadRow, stoppedRow, (id: string) => stoppedRow(id, 'CANCELLED')];
    const padding = 'x'.repeat(400);
    const rows = Array.from({ length: ROWS }, (_, i) => ({ ...kinds[i % kinds.length]?.(`n-${i}`), padding }));
    for (let first = 0; first < ROWS; first += 25) {
      const requests = rows.slice(first, first + 25).map((row) => ({ PutRequest: { Item: toItem(row) } }));
      await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [ops.tables.notification_log]: requests } }));
    }
    const dead = (ROWS * 3) / 5;
    const excluded = { INVALID_RECIPIENT: ROWS / 5, CANCELLED: ROWS / 5 };
    expect(await answer(start('--dry-run'))).toMatchObject({ matched: ROWS, excluded, sent: 0, to_send: dead });

    // Slow enough to be killed while it runs.
    const killed = start('--yes', '--rate', '50');
    const ended = new Promise((resolve) => killed.once('close', resolve));
    const received: string[] = [];
    const receive = async () => {
      for (const { log_id } of await ops.takeAll()) received.push(log_id);
    };
    while (received.length < dead / 4) await receive();
    killed.kill('SIGKILL');
    await ended;
    await receive();
    const before = received.length;
    expect(before).toBeLessThan(dead);

    const after = await answer(start('--yes'));
    await receive();
    expect(after).toMatchObject({ excluded });
    expect(new Set(received).size).toBe(received.length);
    // A row that was revived just before the kill has no message. It is due, so the next sweep sends it.
    const due = Number(after['sent']) + before;
    expect(dead - due).toBeGreaterThanOrEqual(0);
    expect(dead - due).toBeLessThanOrEqual(25);
    expect(received.length).toBe(due);
    expect(await answer(start('--dry-run'))).toMatchObject({ matched: ROWS - dead, to_send: 0 });
  },
  Math.max(180_000, ROWS * 40),
);
