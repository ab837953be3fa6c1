import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOperationStore } from '../../src/adapters/dynamodb/console/operation-store.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Operation } from '../../src/core/operator/operations/operation.ts';
import { announceAsRuntime, deadRow, type Operations, startOperations, stoppedRow } from '../support/cli/operations.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/** REPLAY_ROWS=17000 replays more than 10,000. */
const ROWS = Number(process.env['REPLAY_ROWS'] ?? 600);
const COMMAND = join(PROJECT_ROOT, 'src', 'cli', 'main.ts');
/** Far less than all the rows need, SDK and compiler included. */
const HEAP_MB = { replay: 56, console: 80 };

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
  await announceAsRuntime(ops);
}, 60_000);
afterAll(() => ops.stop());

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

function start(command: keyof typeof HEAP_MB, ...args: string[]): ChildProcess {
  const line = [`--max-old-space-size=${HEAP_MB[command]}`, COMMAND, command, ...args, '--local', '--json'];
  const child = spawn(process.execPath, line, { cwd: ops.directory });
  children.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
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

async function put(rows: readonly object[]): Promise<void> {
  for (let first = 0; first < rows.length; first += 25) {
    const requests = rows.slice(first, first + 25).map((row) => ({ PutRequest: { Item: toItem({ ...row }) } }));
    await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [ops.tables.notification_log]: requests } }));
  }
}

/** The only operation, when it fits. */
async function operationWhen(fits: (operation: Operation) => boolean, worker?: ChildProcess): Promise<Operation> {
  const store = createOperationStore(ops.dynamodb, ops.tables.pipeline_state);
  let said = '';
  worker?.stderr?.on('data', (text: Buffer) => {
    said += text;
  });
  for (;;) {
    const ended = worker !== undefined && worker.exitCode !== null;
    const [operation] = await store.list({ limit: 1 });
    if (operation !== undefined && fits(operation)) return operation;
    if (ended) throw new Error(`the command ended with ${worker.exitCode}: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it(
  `replays ${(ROWS * 3) / 5} of ${ROWS} rows in bounded memory, killed twice, by commands and the console: none is skipped, none is repeated`,
  async () => {
    const kinds = [deadRow, deadRow, deadRow, stoppedRow, (id: string) => stoppedRow(id, 'CANCELLED')];
    const padding = 'x'.repeat(400);
    await put(Array.from({ length: ROWS }, (_, i) => ({ ...kinds[i % kinds.length]?.(`n-${i}`), padding })));
    const dead = (ROWS * 3) / 5;
    const excluded = { INVALID_RECIPIENT: ROWS / 5, CANCELLED: ROWS / 5 };
    const preview = await answer(start('replay', '--dry-run'));
    expect(preview).toMatchObject({ matched: ROWS, excluded, sent: 0, to_send: dead });

    // Slow enough to be killed while it runs.
    const slowly = ['--yes', '--rate', String(Math.max(30, Math.ceil(ROWS / 34)))];
    const first = start('replay', ...slowly);
    const { operation_id } = await operationWhen(({ progress }) => progress.taken >= dead / 4, first);
    await kill(first);
    const second = start('replay', ...slowly);
    await operationWhen(({ progress }) => progress.taken >= dead / 2, second);
    await kill(second);
    expect((await operationWhen(() => true)).progress.taken).toBeLessThan(dead);
    // What a process that died left is gone on with by the console, too.
    const console = start('console');
    const { progress } = await operationWhen(({ status }) => status === 'done', console);
    expect(progress).toEqual({ matched: ROWS, taken: dead, left_to_sweep: 0, excluded });

    const messages = await ops.takeAll();
    expect(new Set(messages.map(({ log_id }) => log_id)).size).toBe(dead);
    // A row that was revived just before a kill gets its message again; the second one finds nothing to do.
    expect(messages.length - dead).toBeLessThanOrEqual(2 * 100);
    for (let i = 0; i < ROWS; i += 1) {
      const row = await ops.row(`n-${i}`);
      expect(row).toMatchObject(i % 5 < 3 ? { replay_id: operation_id, redrive_count: 1 } : { send_status: 'FAILED' });
    }
    expect(await answer(start('replay', '--dry-run'))).toMatchObject({ matched: ROWS - dead, to_send: 0 });
  },
  Math.max(480_000, ROWS * 200),
);
