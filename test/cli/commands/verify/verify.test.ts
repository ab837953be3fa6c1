import { DeleteItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { emailAccess } from '../../../../src/application/emails/email-access.ts';
import type { ForeignRow } from '../../../../src/core/model/notification.ts';
import type { Verified } from '../../../../src/core/verify/findings.ts';
import { deadRow, type Operations, startOperations, stoppedRow, storedRow } from '../../../support/cli/operations.ts';
import { recordingActions } from '../../../support/cli/recorded-calls.ts';
import { batchRow, chunkOf, chunkState, emailContent, emailRow } from '../../../support/newsletter/job-rows.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
  await putWorld();
}, 60_000);
afterAll(() => ops?.stop());

const longAgo = new Date(Date.now() - 120_000).toISOString();
const dead = (log_id: string, changes: ForeignRow = {}) => deadRow(log_id, { work_at: longAgo, ...changes });

const record = (original_log_id: string, retry_attempt: number, retry_status = 'FAILED') =>
  put(ops.tables.notification_retry_log, { original_log_id, retry_attempt, retry_status });
const put = (TableName: string, item: object) =>
  ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(item) }));
const content = (log_id: string) =>
  put(ops.tables.notification_content, { log_id, tenant_id: log_id === 'other' ? 'T2' : 'tenant-1' });
const TODAY = new Date().toISOString();
const letter = (log_id: string) =>
  ops.sendDeadLetter('webhook', {
    version: 1,
    tenant_id: 'tenant-1',
    channel: 'webhook',
    priority: 'normal',
    log_id,
    due: longAgo,
    run_id: `sweep-${log_id}`,
  });

/** One of each kind, as the pipeline leaves them. */
async function putWorld(): Promise<void> {
  const claim_until = new Date(Date.now() + 9e6).toISOString();
  const claimed = { send_status: 'SENDING', claim_id: 'c', claim_until } as const;
  const { work_queue: _, ...out } = storedRow('delivered', { send_status: 'SUCCESS', last_attempt: 1, claim_id: 'c' });
  const handed = { ...stoppedRow('handed', 'MAX_RETRIES'), successor_log_id: 'handed-fallback', claim_id: 'c' };
  await ops.put(
    out,
    ...[storedRow('waiting'), storedRow('in-flight', { ...claimed, last_attempt: 1 })],
    // The letter of the first one is a copy of an old message, and was redriven today.
    dead('dead-1', { claim_id: 'c', dead_enqueued_at: '2026-01-01T00:00:00.000Z', dead_sent_at: TODAY }),
    dead('dead-2', { claim_id: 'c' }),
    // SQS has dropped its letter.
    dead('dead-old', { work_at: '2026-01-01T00:00:00.000Z' }),
    ...[stoppedRow('stopped'), stoppedRow('cancelled', 'CANCELLED'), stoppedRow('expired', 'EXPIRED')],
    ...[handed, storedRow('handed-fallback', { predecessor_log_id: 'handed', last_attempt: -1, send_attempts: 0 })],
    storedRow('other', { tenant_id: 'T2' }),
  );
  await record('delivered', 1, 'SUCCESS');
  for (const log_id of ['dead-1', 'dead-2', 'handed'])
    for (const attempt of [1, 2, 3, 4, 5]) await record(log_id, attempt);
  await Promise.all(['dead-1', 'dead-2'].map(letter));
  const unfinished = ['waiting', 'in-flight', 'dead-1', 'dead-2', 'dead-old', 'handed-fallback', 'other'];
  for (const log_id of [...unfinished, 'never-accepted']) await content(log_id);
  const { emails, batches, chunks } = emailAccess({ ...ops, clock: () => new Date(), newId: () => 'x' });
  const prepared = { recipients: 5, excluded: 1, excluded_by_reason: {}, batches: 1, at: longAgo };
  await emails.create(emailRow({ status: 'submitted', prepared }), emailContent());
  const counts = { pending: 0, submitted: 3, excluded: 0, failed: 0, uncertain: 1 };
  await batches.put(batchRow({ status: 'submitted', counts }));
  const excluded = { pending: 0, submitted: 0, excluded: 1, failed: 0, uncertain: 0 };
  await batches.put(batchRow({ batch_id: 'excluded', status: 'submitted', counts: excluded }));
  await chunks.put([
    { chunk: chunkOf(4), state: chunkState('sssu') },
    { chunk: chunkOf(1, { batch_id: 'excluded' }), state: chunkState('x', { batch_id: 'excluded' }) },
  ]);
}

/** In virtual time: what looks wrong is read again after a minute. */
async function verify(...args: string[]) {
  let now = Date.now();
  const pause = async (ms: number) => {
    now += ms;
  };
  const { actions, clients } = recordingActions(ops.deployment);
  const findDeployment = async () => ({ ...ops.deployment, clients });
  const more = { clock: () => new Date(now), pause, findDeployment };
  const { code, out, err } = await ops.run(['verify', '--local', '--json', ...args], more);
  expect([...actions].filter((action) => /Put|Update|Delete|PartiQL|Send/.test(action))).toEqual([]);
  if (out === '') throw new Error(err);
  return { code, err, ...(JSON.parse(out) as Verified) };
}

const EQUATION =
  '12 accepted = 1 delivered + 3 waiting + 1 in flight + 3 dead + 1 stopped + 1 cancelled + 1 expired + 1 handed on';

it('adds up what was accepted, the recipients of newsletters, and the letters', async () => {
  expect(await verify('--letters')).toMatchObject({
    code: 0,
    holds: true,
    violated: 0,
    equation: EQUATION,
    records_checked: 12,
    contents_without_row: 1,
    recipients: { total: 5, submitted: 3, excluded: 1, uncertain: 1, pending: 0, failed: 0 },
    letters: { webhook: { dead: 2, letters: 2 } },
  });
});

it('takes the notifications of a tenant and a period alone', async () => {
  expect(await verify('--tenant', 'T2')).toMatchObject({ equation: '1 accepted = 1 waiting', emails: 0 });
  expect(await verify('--to', '2026-01-01T00:00:00Z')).toMatchObject({ accepted: 0, emails: 0 });
});

it('says for people what it says in JSON', async () => {
  const { code, out } = await ops.run(['verify', '--local']);
  expect(code).toBe(0);
  expect(out).toContain(`${EQUATION}\n5 recipients of 1 newsletters = 3 submitted + 1 excluded + 1 uncertain\n`);
  expect(out).toContain('No rule is broken.');
});

it('says how many malformed notifications keep their content for their writers, and breaks no rule', async () => {
  const { work_queue: _, work_at: __, ...row } = storedRow('malformed', { send_status: 'FAILED' });
  await ops.put({ ...row, failure_reason: 'FORMAT_ERROR', updated_by: 'notification-retry', message_body: 7 });
  const { code, out } = await ops.run(['verify', '--local']);
  const key = { TableName: ops.tables.notification_log, Key: toItem({ log_id: 'malformed' }) };
  await ops.dynamodb.send(new DeleteItemCommand(key));
  expect(out).toContain('malformed, with content in the clear: 1; their writers must correct what error_message names');
  expect(code).toBe(0);
});

const change = (log_id: string, UpdateExpression: string, values: object = {}) =>
  ops.dynamodb.send(
    new UpdateItemCommand({
      TableName: ops.tables.notification_log,
      Key: { log_id: { S: log_id } },
      UpdateExpression,
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: toItem(values) }),
    }),
  );
const stateOf = (states: string) =>
  ops.dynamodb.send(
    new UpdateItemCommand({
      TableName: ops.tables.email_recipients,
      Key: toItem({ email_batch: 'email-1#00000', chunk: 'state#00000' }),
      UpdateExpression: 'SET states = :states',
      ExpressionAttributeValues: { ':states': { S: states } },
    }),
  );
const recordKey = (original_log_id: string, retry_attempt: number) =>
  new DeleteItemCommand({
    TableName: ops.tables.notification_retry_log,
    Key: toItem({ original_log_id, retry_attempt }),
  });

/** What somebody breaks, what names it, and what mends it. */
const SABOTAGES: Readonly<Record<string, [() => Promise<unknown>, object, () => Promise<unknown>, string?]>> = {
  'a row that is out of the work index': [
    () => change('waiting', 'REMOVE work_queue'),
    { rule: '1', log_id: 'waiting' },
    () => ops.put(storedRow('waiting')),
  ],
  'a claimed row that is out of the work index': [
    () => change('in-flight', 'REMOVE work_at'),
    { rule: '1', log_id: 'in-flight' },
    () => change('in-flight', 'SET work_at = :at', { ':at': longAgo }),
  ],
  'content that is deleted': [
    () =>
      ops.dynamodb.send(
        new DeleteItemCommand({ TableName: ops.tables.notification_content, Key: toItem({ log_id: 'dead-1' }) }),
      ),
    { rule: '1', log_id: 'dead-1' },
    () => content('dead-1'),
  ],
  'a row in a partition that no sweep reads': [
    () => change('waiting', 'SET work_queue = :queue', { ':queue': 'due#normal#63' }),
    { rule: '1', log_id: 'waiting' },
    () => ops.put(storedRow('waiting')),
  ],
  'a notification that is handed on to nobody': [
    () => change('handed', 'SET successor_log_id = :id', { ':id': 'nobody' }),
    { rule: '1', log_id: 'handed' },
    () => change('handed', 'SET successor_log_id = :id', { ':id': 'handed-fallback' }),
  ],
  'more attempts than the limit': [
    () => change('waiting', 'SET send_attempts = :n', { ':n': 7 }),
    { rule: '4', log_id: 'waiting' },
    () => ops.put(storedRow('waiting')),
  ],
  'a record that is deleted': [
    () => ops.dynamodb.send(recordKey('dead-2', 3)),
    { rule: '6', log_id: 'dead-2', says: 'attempt 3 has no record' },
    () => record('dead-2', 3),
  ],
  'the newest record that is deleted': [
    () => ops.dynamodb.send(recordKey('delivered', 1)),
    { rule: '6', log_id: 'delivered' },
    () => record('delivered', 1, 'SUCCESS'),
  ],
  'content in the clear': [
    () => change('waiting', 'SET subject = :text', { ':text': 'words' }),
    { rule: '14', log_id: 'waiting' },
    () => ops.put(storedRow('waiting')),
  ],
  'a letter that is purged': [
    () => ops.take('webhook', 'dead_letter'),
    { rule: '11', channel: 'webhook', says: '2 dead, and 0 letters' },
    () => Promise.all(['dead-1', 'dead-2'].map(letter)),
  ],
  'a letter that is purged, one by one': [
    async () => {
      await ops.take('webhook', 'dead_letter');
      await letter('dead-1');
      // Of a run before: a redrive of it is dropped as a straggler.
      await ops.sendDeadLetter('webhook', {
        version: 1,
        tenant_id: 'tenant-1',
        channel: 'webhook',
        priority: 'normal',
        log_id: 'dead-2',
        due: longAgo,
        run_id: 'sweep-before',
      });
    },
    { rule: '11', log_id: 'dead-2', channel: 'webhook' },
    () => letter('dead-2'),
    '--letters',
  ],
  "a chunk's changed sum": [
    () => stateOf('ssuu'),
    { rule: 'N2', email_id: 'email-1', says: 'batch 00000: the row counts 3 submitted, and the chunks 2' },
    () => stateOf('sssu'),
  ],
  "a chunk's lost recipient": [
    () => stateOf('sss'),
    { rule: 'N4', email_id: 'email-1', says: 'the states add up to 4 of 5' },
    () => stateOf('sssu'),
  ],
};

it.each(Object.entries(SABOTAGES))('names, and exits with 1 for %s', async (_, [spoil, violation, mend, ...args]) => {
  await spoil();
  const broken = await verify(...(args as string[]));
  expect(broken).toMatchObject({ code: 1, holds: false });
  expect(broken.violations).toContainEqual(expect.objectContaining(violation));
  await mend();
  expect(await verify(...(args as string[]))).toMatchObject({ code: 0, equation: EQUATION });
});

it('goes on where an interrupted run stopped, and counts nothing twice', async () => {
  const stop = new AbortController();
  let waits = 0;
  const pause = async () => {
    waits += 1;
    if (waits === 3) stop.abort();
  };
  const interruption = () => ({ signal: stop.signal, exitCode: () => (stop.signal.aborted ? 130 : undefined) });
  // Each page costs more than a second at one unit per second.
  const stopped = await ops.run(['verify', '--local', '--json', '--rate', '1'], { pause, interruption });
  expect(stopped).toMatchObject({ code: 130, out: '' });
  const [, id = ''] = /verify --resume (\S+) --local/.exec(stopped.err) ?? [];
  expect(await verify('--resume', id)).toMatchObject({ code: 0, equation: EQUATION, records_checked: 12, emails: 1 });
  const again = await ops.run(['verify', '--local', '--resume', id]);
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('start a new one') });
});
