import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queueCounts } from '../../../../src/adapters/sqs/lanes.ts';
import { redriveByCopy } from '../../../../src/adapters/sqs/redrive.ts';
import type { ForeignRow, NotificationRow } from '../../../../src/core/model/notification.ts';
import { identityOf } from '../../../../src/processes/process-identity.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../../../support/cli/operations.ts';
import { messageFor } from '../../../support/rows.ts';
import { samplingQueue } from '../../../support/sampling-queue.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
});
afterAll(() => ops.stop());
afterEach(async () => {
  await ops.takeAll();
  for (const channel of ['webhook', 'email'] as const) await ops.take(channel, 'dead_letter');
});

/** Puts a dead row and its dead letter, as the pipeline does. */
async function die(log_id: string, changes: Partial<NotificationRow> & ForeignRow = {}): Promise<string> {
  const row = deadRow(log_id, changes);
  const body = messageFor(row, { run_id: row.dead_run_id ?? '', due: '2026-01-01T00:00:00.000Z' });
  const dead_message_id = await ops.sendDeadLetter(row.channel, body);
  await ops.put({ ...row, dead_message_id });
  return dead_message_id;
}

/** Puts a dead letter whose notification was delivered in another way. */
async function outlive(log_id: string): Promise<void> {
  await ops.put(storedRow(log_id, { send_status: 'SUCCESS' }));
  await ops.sendDeadLetter('webhook', messageFor(storedRow(log_id)));
}

const idsOf = (letters: readonly { readonly log_id: string }[]) => letters.map(({ log_id }) => log_id).sort();

describe('dlq list', () => {
  it('shows what a redrive would do with each dead letter, and leaves all in the queue', async () => {
    await die('l-dead', { error_type: 'AUTH_FAILED', failure_reason: 'AUTH_FAILED' });
    await outlive('l-stale');
    await ops.sendDeadLetter('webhook', 'not ours');
    const { dead_letters } = await ops.json<{ dead_letters: { state: string }[] }>('dlq', 'list');
    expect(dead_letters.sort((a, b) => (a.state < b.state ? -1 : 1))).toMatchObject([
      { channel: 'webhook', log_id: 'l-dead', state: 'redrive', failure_reason: 'AUTH_FAILED' },
      { log_id: 'l-stale', state: 'stale', because: 'it is delivered already' },
      { state: 'unreadable', because: expect.stringContaining('drop it') },
    ]);
    const QueueUrl = ops.deployment.dead_letter_queues.webhook;
    expect(await queueCounts(ops.sqs, QueueUrl)).toEqual({ visible: 3, in_flight: 0, delayed: 0 });
  });

  it('gives for each dead one what a table of failed jobs holds', async () => {
    const work_at = '2026-03-01T10:00:00.000Z';
    const error_message = 'someone@example.com answered 503';
    await die('j-1', { template_id: 'llm_processing', error_message, work_at });
    await outlive('j-2');
    const { dead_letters } = await ops.json<{ dead_letters: { log_id: string }[] }>('dlq', 'list');
    const [dead, stale] = dead_letters.sort((a, b) => (a.log_id < b.log_id ? -1 : 1));
    expect(dead).toMatchObject({
      job_type: 'llm_processing',
      error_type: 'SERVER_OVERLOAD',
      error_message: '… answered 503',
      failed_at: work_at,
      retryable: true,
    });
    expect(stale).toMatchObject({ log_id: 'j-2', retryable: false });
    expect(stale).not.toHaveProperty('failed_at');
  });

  it('says that a queue is empty', async () => {
    expect(await ops.run(['dlq', 'list', '--channel', 'email'])).toEqual({
      code: 0,
      out: '',
      err: 'The dead-letter queue of email is empty: there is nothing to redrive.\n',
    });
  });

  it('lists more dead letters than one receive returns', async () => {
    await Promise.all(Array.from({ length: 23 }, (_, i) => die(`many-${i}`)));
    const { dead_letters } = await ops.json<{ dead_letters: { log_id: string }[] }>('dlq', 'list');
    expect(new Set(idsOf(dead_letters)).size).toBe(23);
  });
});

describe('dlq show', () => {
  it("shows a notification's letter with the remedy", async () => {
    await die('s-1', { failure_reason: 'PERMISSION_DENIED' });
    expect(await ops.json('dlq', 'show', 's-1')).toMatchObject({
      dead_letters: [{ log_id: 's-1', state: 'redrive' }],
      remedy: expect.stringContaining('Grant'),
    });
  });

  it.each([
    ['nobody', 'There is no notification nobody'],
    ['s-2', 's-2 has no dead letter in the queue of webhook: see where it stands'],
  ])('says what to do about %s', async (log_id, sentence) => {
    await ops.put(deadRow('s-2'));
    const { code, err } = await ops.run(['dlq', 'show', log_id]);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
  });
});

describe('dlq redrive', () => {
  it('moves all dead letters to the lanes, with the old body, and leaves the rows to the functions', async () => {
    await Promise.all([die('d-1'), die('d-2', { priority: 'urgent' }), outlive('d-3')]);
    const before = await ops.row('d-1');
    expect(await ops.run(['dlq', 'redrive', '--channel', 'webhook', '--local', '--yes', '--json'])).toMatchObject({
      code: 0,
      out: '{"moved":3}\n',
    });
    expect(await ops.row('d-1')).toEqual(before);
    expect(await ops.take('webhook', 'express')).toMatchObject([{ log_id: 'd-2', run_id: 'sweep-d-2' }]);
    expect(idsOf(await ops.take('webhook', 'standard'))).toEqual(['d-1', 'd-3']);
    expect(await ops.take('webhook', 'dead_letter')).toEqual([]);
  });

  it('waits for dead letters that another reader has received', async () => {
    await die('w-1');
    const QueueUrl = ops.deployment.dead_letter_queues.webhook;
    await ops.sqs.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 2 }));
    expect(await ops.json('dlq', 'redrive', '--channel', 'webhook', '--yes')).toEqual({ moved: 1 });
  });

  it('leaves messages that are not from this pipeline in the queue, and says so', async () => {
    await ops.sendDeadLetter('webhook', 'not ours');
    const { out, err } = await ops.run(['dlq', 'redrive', '--channel', 'webhook', '--local', '--yes', '--json']);
    expect(out).toBe('{"moved":0}\n');
    expect(err).toContain('Not from this pipeline, and left in the queue: 1 dead letter.');
    expect((await ops.json<{ dead_letters: object[] }>('dlq', 'list')).dead_letters).toHaveLength(1);
    await ops.json('dlq', 'drop', '--channel', 'webhook', '--stale', '--yes');
  });

  it('leaves notifications that die again in the meantime, as it would never end otherwise', async () => {
    await die('g-1');
    const url = ops.deployment.dead_letter_queues.webhook;
    const again = messageFor(deadRow('g-1'));
    let died: Promise<string> | undefined;
    const result = await redriveByCopy(ops.sqs, url, ops.deployment.lane_queues, {
      pause: async () => void (await died),
      onProgress: () => {
        died ??= ops.sendDeadLetter('webhook', again);
      },
    });
    expect(result).toEqual({ moved: 1, unreadable: 0, held: 0 });
    expect(await ops.take('webhook', 'dead_letter')).toEqual([again]);
  });

  it('says that there is nothing to do', async () => {
    expect(await ops.run(['dlq', 'redrive', '--channel', 'email', '--local', '--json'])).toEqual({
      code: 0,
      out: '{"moved":0}\n',
      err: 'The dead-letter queue of email is empty: there is nothing to redrive.\n',
    });
  });

  it('runs once at a time', async () => {
    await die('o-1');
    const lock = join(ops.directory, 'state', 'redrive-webhook.pid');
    mkdirSync(join(ops.directory, 'state'), { recursive: true });
    writeFileSync(lock, JSON.stringify(identityOf(process.ppid)));
    const { code, err } = await ops.run(['dlq', 'redrive', '--channel', 'webhook', '--local', '--yes']);
    expect(code).toBe(1);
    expect(err).toMatch(/A redrive of webhook is already running \(process \d+\): wait for its end/);
    writeFileSync(lock, JSON.stringify(identityOf(999_999_999)));
    expect(await ops.json('dlq', 'redrive', '--channel', 'webhook', '--yes')).toEqual({ moved: 1 });
    rmSync(lock, { force: true });
  });

  it('asks first, and does nothing without a yes or without a terminal', async () => {
    await die('a-1');
    const args = ['dlq', 'redrive', '--channel', 'webhook', '--local'];
    expect(await ops.run(args)).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') });
    expect(await ops.run(args, { answer: 'n' })).toMatchObject({
      code: 0,
      err: expect.stringMatching(/Redrive about 1 dead letter of webhook\?.*Nothing was done/s),
    });
    expect(await ops.take('webhook', 'standard')).toEqual([]);
    expect(await ops.run(args, { answer: 'yes' })).toMatchObject({ code: 0 });
    expect(await ops.take('webhook', 'standard')).toHaveLength(1);
  });
});

describe('dlq drop', () => {
  it('deletes the letter; the row keeps its reason, and is no longer dead', async () => {
    await Promise.all([die('p-1'), die('p-2')]);
    expect(await ops.json('dlq', 'drop', 'p-1', '--yes')).toEqual({ dropped: 1 });
    const row = await ops.row('p-1');
    expect(row).toMatchObject({ send_status: 'FAILED', failure_reason: 'MAX_RETRIES', send_attempts: 6 });
    expect(row).not.toHaveProperty('work_queue');
    expect(await ops.row('p-2')).toHaveProperty('work_queue');
    expect(idsOf(await ops.take('webhook', 'dead_letter'))).toEqual(['p-2']);
  });

  it('deletes a redriven letter that no worker took, so that SQS moved it back: another message, with its body', async () => {
    await die('p-4');
    const [body] = await ops.take('webhook', 'dead_letter');
    await ops.sendDeadLetter('webhook', body ?? 'none');
    expect(await ops.json('dlq', 'drop', 'p-4', '--yes')).toEqual({ dropped: 1 });
    expect(await ops.row('p-4')).not.toHaveProperty('work_queue');
  });

  it('leaves a notification alone that died again with another letter', async () => {
    const row = deadRow('p-3', { dead_message_id: 'a newer one' });
    await ops.put(row);
    await ops.sendDeadLetter('webhook', messageFor(row));
    expect(await ops.json('dlq', 'drop', 'p-3', '--yes')).toEqual({ dropped: 1 });
    expect(await ops.row('p-3')).toEqual(row);
  });

  it('--stale deletes the letters that a redrive would drop', async () => {
    await die('t-1');
    await outlive('t-2');
    await ops.sendDeadLetter('webhook', 'not ours');
    expect(await ops.json('dlq', 'drop', '--channel', 'webhook', '--stale', '--yes')).toEqual({ dropped: 2 });
    expect(idsOf(await ops.take('webhook', 'dead_letter'))).toEqual(['t-1']);
  });

  it('asks first', async () => {
    await die('q-1');
    expect(await ops.run(['dlq', 'drop', '--channel', 'webhook', '--all'], { answer: '' })).toMatchObject({
      code: 0,
      err: expect.stringContaining('Drop ALL dead letters of webhook?'),
    });
    expect(await ops.take('webhook', 'dead_letter')).toHaveLength(1);
  });

  it.each([
    [[], 'Choose the dead letters: LOG_IDs, or --channel with --stale or --all.'],
    [['--channel', 'email'], 'Choose the dead letters'],
    [['--channel', 'email', '--stale', '--all'], 'Choose the dead letters'],
    [['x', '--all'], 'omit --channel, --stale and --all'],
  ])('refuses %j', async (args, sentence) => {
    const { code, err } = await ops.run(['dlq', 'drop', ...args, '--yes']);
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });

  it('says which notifications have no letter', async () => {
    await ops.put(deadRow('z-1'));
    expect(await ops.run(['dlq', 'drop', 'z-1', '--yes'])).toEqual({
      code: 1,
      out: '0 dead letters dropped.\n',
      err: 'z-1 has no dead letter: see `npm run ops -- show z-1`.\n',
    });
  });
});

describe('a dead-letter queue that holds more than a walk sees before the first ones are back', () => {
  const COUNT = process.env['FULL'] === undefined ? 400 : 20_000;
  const LIVE = COUNT / 4;

  /** Letters of which the first few are of dead notifications; the others are stale, because their row has gone. */
  async function deployed() {
    const live = Array.from({ length: LIVE }, (_, i) => deadRow(`many-${i}`, { dead_message_id: `m${i}` }));
    await ops.put(...live);
    const bodies = Array.from({ length: COUNT }, (_, i) => {
      const row = live[i] ?? deadRow(`many-${i}`);
      return JSON.stringify(messageFor(row, { run_id: row.dead_run_id ?? '', due: '2026-01-01T00:00:00.000Z' }));
    });
    const queue = samplingQueue(bodies, { requestMs: 600_000 / COUNT });
    const { clients: given } = ops.deployment;
    const clients = { ...given, sqs: { ...given.sqs, requestHandler: queue.handler } };
    const findDeployment = async () => ({ ...ops.deployment, clients });
    const run = async (...args: string[]) => JSON.parse((await ops.run([...args, '--json'], { findDeployment })).out);
    return { queue, run, findDeployment };
  }

  it('says so when there are more than it lists', async () => {
    const { findDeployment } = await deployed();
    const { code, err } = await ops.run(['dlq', 'list', '--channel', 'webhook', '--limit', '20'], { findDeployment });
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('webhook has more: --limit') });
  });

  it('is listed whole', async () => {
    const { queue, run } = await deployed();
    const { dead_letters } = await run('dlq', 'list', '--channel', 'webhook', '--limit', String(COUNT + 1));
    expect(new Set(idsOf(dead_letters)).size).toBe(COUNT);
    expect(dead_letters.filter(({ state }: { state: string }) => state === 'redrive')).toHaveLength(LIVE);
    expect(queue.inFlight()).toBe(0);
    const { dead_letters: own } = await run('dlq', 'show', 'many-7');
    expect(own).toMatchObject([{ log_id: 'many-7', state: 'redrive' }]);
  }, 300_000);

  it('loses all that is stale and nothing else to `drop --stale`, and the rest to `drop --all`', async () => {
    const { queue, run } = await deployed();
    expect(await run('dlq', 'drop', '--channel', 'webhook', '--stale', '--yes')).toEqual({ dropped: COUNT - LIVE });
    expect(queue.left()).toHaveLength(LIVE);
    expect(queue.inFlight()).toBe(0);
    expect(await ops.row('many-3')).toMatchObject({ work_queue: expect.stringContaining('dead#') });
    expect(await run('dlq', 'drop', '--channel', 'webhook', '--all', '--yes')).toEqual({ dropped: LIVE });
    expect(queue.left()).toEqual([]);
    expect(await ops.row('many-3')).not.toHaveProperty('work_queue');
  }, 300_000);
});

/** Far enough behind what was put a moment ago. */
const later = { clock: () => new Date(Date.now() + 10_000) };
const lettersLeft = async () =>
  idsOf((await ops.json<{ dead_letters: { log_id: string }[] }>('dlq', 'list')).dead_letters);

describe('the letter of a dead notification that somebody takes', () => {
  it.each([
    ['retry', '--redrive', 't-1'],
    ['cancel', 't-1'],
  ])('is deleted by `ops %s %s`, so that the depth of the queue falls, and no other', async (...args) => {
    await die('t-1');
    await die('t-2');
    const { code, err } = await ops.run([...args, '--local'], later);
    expect([code, err, await lettersLeft()]).toEqual([0, '', ['t-2']]);
  });

  it('stays while its only attempt is not over: `ops retry`', async () => {
    await die('t-3');
    await ops.run(['retry', 't-3', '--local'], later);
    expect(await lettersLeft()).toEqual(['t-3']);
  });

  it.each([
    ['retry', '--redrive', 'm-1'],
    ['replay', '--tenant', 'tenant-m', '--channel', 'webhook', '--yes'],
  ])('is named with its channel and a command where `ops %s %s` cannot delete it', async (...args) => {
    await ops.put(deadRow('m-1', { tenant_id: 'tenant-m' }));
    const missing = `${ops.deployment.dead_letter_queues.webhook}-missing`;
    const dead_letter_queues = { ...ops.deployment.dead_letter_queues, webhook: missing };
    const findDeployment = async () => ({ ...ops.deployment, dead_letter_queues });
    const { code, err } = await ops.run([...args, '--local'], { ...later, findDeployment });
    expect(code).toBe(0);
    expect(err).toContain('Stale dead letters stay in the queue of webhook: ');
    expect(err).toContain('npm run ops -- dlq drop --channel webhook --stale --local');
    expect(err).not.toContain('queue of email');
  });
});
