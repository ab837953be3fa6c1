import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Verified } from '../../src/core/verify/findings.ts';
import { announceAsRuntime, type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/** VERIFY_ROWS=100000 is what must end within five minutes. */
const ROWS = Number(process.env['VERIFY_ROWS'] ?? 2_000);
const MOST_SECONDS = 300;
/** SDK and compiler included; the rows alone are more. */
const HEAP_MB = 80;

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
  await announceAsRuntime(ops);
}, 60_000);
afterAll(() => ops?.stop());

async function put(table: string, items: readonly object[]): Promise<void> {
  for (let first = 0; first < items.length; first += 25) {
    const requests = items.slice(first, first + 25).map((item) => ({ PutRequest: { Item: toItem(item) } }));
    await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }));
  }
}

function rows(from: number, count: number): object[] {
  return Array.from({ length: count }, (_none, i) => {
    const log_id = `n-${from + i}`;
    const { work_queue: _, ...row } = storedRow(log_id, { send_status: 'SUCCESS', last_attempt: 0 });
    return { ...((from + i) % 3 === 0 ? storedRow(log_id) : row), error_message: 'x'.repeat(250) };
  });
}

function verify(): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const line = [`--max-old-space-size=${HEAP_MB}`, join(PROJECT_ROOT, 'src', 'cli', 'main.ts'), 'verify'];
  const child = spawn(process.execPath, [...line, '--local', '--json', '--rate', '2000'], { cwd: ops.directory });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text: Buffer) => {
    said.out += text;
  });
  child.stderr.on('data', (text: Buffer) => {
    said.err += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })));
}

it(
  `verifies ${ROWS} notifications in bounded memory, and finds the one that is lost`,
  async () => {
    for (let from = 0; from < ROWS; from += 5_000) {
      const some = rows(from, Math.min(5_000, ROWS - from));
      await put(ops.tables.notification_log, some);
      const contents = some.map((row) => ({ ...(row as { log_id: string }), message_body: 'y'.repeat(600) }));
      await put(ops.tables.notification_content, contents);
    }
    const { work_queue: _, ...lost } = storedRow('lost');
    await ops.put(lost);
    const began = Date.now();
    const { code, out, err } = await verify();
    const seconds = (Date.now() - began) / 1000;
    if (out === '') throw new Error(err);
    const verified: Verified = JSON.parse(out);
    console.info(`${ROWS} rows: ${seconds} s, ${verified.read_units} read units`);
    expect({ code, ...verified }).toMatchObject({ code: 1, accepted: ROWS + 1, lost: 1, contents: ROWS, violated: 1 });
    expect(verified.violations).toMatchObject([{ rule: '1', log_id: 'lost' }]);
    expect(seconds).toBeLessThan(MOST_SECONDS);
  },
  Math.max(600_000, ROWS * 20),
);
