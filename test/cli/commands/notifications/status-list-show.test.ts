import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBreakerStore } from '../../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { createPacingStore } from '../../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { recipientHash } from '../../../../src/adapters/signing/hashed-ids.ts';
import { opened } from '../../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../../src/core/breaker/breaker-policy.ts';
import { historyKeys } from '../../../../src/core/model/history-index.ts';
import type { LaneStatus } from '../../../../src/core/operator/views/pipeline-status.ts';
import {
  deadRow,
  HASH_KEY,
  type Operations,
  startOperations,
  stoppedRow,
  storedRow,
} from '../../../support/cli/operations.ts';

interface List {
  readonly notifications: readonly { readonly log_id: string; readonly state: string }[];
  readonly next_cursor: string | null;
}

let ops: Operations;
const later = new Date(Date.now() + 3_600_000).toISOString();
const secret = 'hanako@example.com';
const { work_queue: _, ...done } = storedRow('done-1', {
  sent_at: '2026-03-01T10:00:00.000Z',
  send_status: 'SUCCESS',
  // Of an earlier attempt.
  error_type: 'SERVER_OVERLOAD',
  tenant_id: 'T1',
  recipient_hash: recipientHash(HASH_KEY, 'T1', secret),
  ...historyKeys({ log_id: 'done-1', tenant_id: 'T1', notification_id: 'N-17' }, new Date()),
  notification_id: 'N-17',
});
const rows = [
  storedRow('due-1', { channel: 'email', tenant_id: 'T1' }),
  storedRow('due-2', { channel: 'email', work_at: '2026-01-01T00:00:00.000Z' }),
  storedRow('waiting-1', { channel: 'email', priority: 'urgent', work_at: later, send_status: 'RETRY' }),
  deadRow('dead-1', {
    channel: 'slack',
    work_at: '2026-01-01T00:00:00.000Z',
    error_type: 'AUTH_FAILED',
    failure_reason: 'AUTH_FAILED',
  }),
  deadRow('dead-2', { channel: 'slack', work_at: '2026-01-03T00:00:00.000Z', priority: 'info' }),
  deadRow('dead-3', { channel: 'slack', work_at: '2026-01-02T00:00:00.000Z', priority: 'important', tenant_id: 'T1' }),
  stoppedRow('stopped-1'),
  done,
];

beforeAll(async () => {
  ops = await startOperations();
  await ops.put(...rows);
});
afterAll(() => ops.stop());

describe('status', () => {
  it('counts for each channel and lane what is due, waiting, in flight and dead', async () => {
    const QueueUrl = ops.deployment.lane_queues.teams?.express;
    await ops.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{}' }));
    await ops.sqs.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 60 }));
    const lanes = await ops.json<LaneStatus[]>('status');
    expect(lanes).toHaveLength(8);
    const lane = (channel: string, name: string) => lanes.find((l) => l.channel === channel && l.lane === name);
    expect(lane('email', 'standard')).toEqual({
      channel: 'email',
      lane: 'standard',
      due: 2,
      waiting: 0,
      held: 0,
      in_flight: 0,
      dead: 0,
      oldest_due_at: '2026-01-01T00:00:00.000Z',
      breakers: [],
      budgets: [],
    });
    expect(lane('email', 'express')).toMatchObject({ due: 0, waiting: 1, oldest_due_at: null });
    expect(lane('slack', 'standard')).toMatchObject({ dead: 2 });
    expect(lane('slack', 'express')).toMatchObject({ dead: 1, due: 0 });
    // The message is of no notification that is due.
    expect(lane('teams', 'express')).toMatchObject({ in_flight: 0, due: 0 });
  });

  it('names the providers that are down, in both lanes of their channel', async () => {
    const { dynamodb, tables } = ops;
    const store = createBreakerStore(dynamodb, tables.pipeline_state, () => new Date());
    const breaker = opened({ id: 'webhook#IC005', error_type: 'SERVER_OVERLOAD' }, undefined, {
      now: new Date(),
      policy: DEFAULT_BREAKER_POLICY,
    });
    await store.write(breaker);
    await Promise.all([store.takeSlot(breaker.id, 'express'), store.takeSlot(breaker.id, 'standard')]);
    const held = { channel: 'webhook', integration_config_id: 'IC005', send_status: 'RETRY' } as const;
    await ops.put(storedRow('held-1', { ...held, work_at: later }));
    const hold = { state: 'held', held_by: 'IC005', held_until: later };
    expect((await ops.json<List>('list', '--status', 'held')).notifications).toMatchObject([
      { log_id: 'held-1', ...hold },
    ]);
    // Each unfinished one is in one list, as in one column of the counts.
    for (const status of ['due', 'waiting', 'in_flight'])
      expect((await ops.json<List>('list', '--status', status, '--channel', 'webhook')).notifications).toEqual([]);
    expect(await ops.json('show', 'held-1')).toMatchObject({ notification: hold });
    const lanes = await ops.json<(LaneStatus & { breakers: object[] })[]>('status');
    const down = {
      channel: 'webhook',
      integration: 'IC005',
      state: 'open',
      since: breaker.since,
      held: 2,
      notifications: 1,
      last_error: 'SERVER_OVERLOAD',
      next_probe_at: breaker.probe_at,
    };
    expect(lanes.map(({ breakers }) => breakers)).toEqual(
      lanes.map(({ channel }) => (channel === 'webhook' ? [down] : [])),
    );
    expect(lanes.map(({ held }) => held)).toEqual(
      lanes.map(({ channel, lane }) => (channel === 'webhook' && lane === 'standard' ? 1 : 0)),
    );
    await store.write({ ...breaker, id: 'teams#TENANT-1@flow.example.com:8443' });
    const { out } = await ops.run(['status', '--local']);
    await ops.dynamodb.send(
      new DeleteItemCommand({ TableName: tables.notification_log, Key: { log_id: { S: 'held-1' } } }),
    );
    expect(out).toMatch(/teams +TENANT-1@flow\.example\.com:8443 +open /);
    expect(out).toMatch(/webhook +IC005 +open +just now +1 +SERVER_OVERLOAD +20/);
  });

  it('shows the budget of e-mail: rate, use of the quota, what is paused and who waits', async () => {
    const { dynamodb, tables } = ops;
    const now = Date.now();
    const waits_until = now + 60_000;
    await createPacingStore(dynamodb, tables.pipeline_state).change('email', [
      { name: 'per_second', set: 20 },
      { name: 'max_24h', set: 220 },
      { name: 'sent_24h', set: 150 },
      { name: 'granted', set: 20 },
      { name: 'enforcement', set: 'PROBATION' },
      { name: 'read_at', set: now },
      { name: 'line:account:express', set: waits_until },
    ]);
    const { out } = await ops.run(['status', '--local']);
    expect(out).toMatch(/email +19\.6 +20 +170 of 220 +PROBATION +just now +standard, info, newsletter until 20/);
    expect(out).toContain(new Date(waits_until).toISOString());
    const lanes = await ops.json<(LaneStatus & { budgets: object[] })[]>('status');
    const shown = { sent_24h: 170, max_24h: 220, waiting_until: { express: expect.any(String), standard: null } };
    expect(lanes.find(({ channel }) => channel === 'email')?.budgets).toMatchObject([shown]);
  });

  it('shows the counts as a table, and where to look for dead notifications', async () => {
    const { code, out } = await ops.run(['status']);
    expect(code).toBe(0);
    expect(out).toMatch(/^channel +lane +due +waiting +held +in flight +dead +oldest due\n/);
    expect(out).toContain('3 dead: npm run ops -- list --status dead');
  });
});

describe('list', () => {
  it.each([
    [[], ['dead-1', 'dead-2', 'dead-3', 'done-1', 'due-1', 'due-2', 'stopped-1', 'waiting-1']],
    [
      ['--status', 'dead'],
      ['dead-1', 'dead-2', 'dead-3'],
    ],
    [
      ['--status', 'unfinished'],
      ['due-1', 'due-2', 'waiting-1'],
    ],
    [
      ['--status', 'due'],
      ['due-1', 'due-2'],
    ],
    [['--status', 'waiting'], ['waiting-1']],
    [['--status', 'in_flight'], []],
    [['--status', 'success'], ['done-1']],
    [['--status', 'dead', '--priority', 'info'], ['dead-2']],
    [
      ['--channel', 'slack', '--status', 'FAILED'],
      ['dead-1', 'dead-2', 'dead-3'],
    ],
    [
      ['--tenant', 'T1'],
      ['dead-3', 'done-1', 'due-1'],
    ],
    [['--error-type', 'AUTH_FAILED'], ['dead-1']],
    [['--error-type', 'INVALID_RECIPIENT'], ['stopped-1']],
    [['--tenant', 'T1', '--recipient', 'Hanako@Example.com'], ['done-1']],
    [['--search', 'dead-2'], ['dead-2']],
    [
      ['--search', 'dead-'],
      ['dead-1', 'dead-2', 'dead-3'],
    ],
    [['--tenant', 'T1', '--search', 'N-17'], ['done-1']],
    [['--status', 'dead', '--to', '1h'], []],
    [['--sent-from', '2026-03-01T00:00:00Z'], ['done-1']],
    [['--sent-to', '2026-02-01T00:00:00Z'], []],
    [['--scheduled-from', '2026-03-01T00:00:00Z'], []],
    [['--attempts', '99'], []],
    [['--attempts', '2-1'], 'range'],
    [['--from', '2020-01-01', '--to', '2020-01-02'], 'time'],
    [['--from', '2020-01-01T00:00:00Z', '--to', '2020-01-02T00:00:00Z'], []],
  ])('finds by %j', async (args, expected) => {
    if (expected === 'range') {
      const { code, err } = await ops.run(['list', ...args]);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('a range such as 2-5') });
      return;
    }
    if (expected === 'time') {
      const { code, err } = await ops.run(['list', ...args]);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('2026-11-21T09:00:00Z') });
      return;
    }
    const { notifications } = await ops.json<List>('list', ...args);
    expect(notifications.map(({ log_id }) => log_id).sort()).toEqual(expected);
  });

  it.each([[[]], [['--status', 'dead']], [['--tenant', 'T1', '--from', '2h']]])(
    'lists the same in pages as at once: %j',
    async (args) => {
      const ids = ({ notifications }: List) => notifications.map(({ log_id }) => log_id);
      const whole = ids(await ops.json<List>('list', ...args));
      const paged: string[] = [];
      let cursor: string | null = null;
      do {
        const page: List = await ops.json('list', ...args, '--limit', '1', ...(cursor ? ['--cursor', cursor] : []));
        expect(page.notifications).toHaveLength(1);
        paged.push(...ids(page));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(paged).toEqual(whole);
    },
  );

  it('lists the dead by their death, the last one first', async () => {
    const { notifications } = await ops.json<List>('list', '--status', 'dead');
    expect(notifications.map(({ log_id }) => log_id)).toEqual(['dead-2', 'dead-3', 'dead-1']);
  });

  it('shows no reason of an earlier attempt for a delivered notification', async () => {
    const { out } = await ops.run(['list', '--tenant', 'T1']);
    expect(out).toContain('done-1');
    expect(out).not.toContain('SERVER_OVERLOAD');
  });

  it('reads a recipient from stdin, so that the address is not in the shell history', async () => {
    const { out } = await ops.run(['list', '--tenant', 'T1', '--recipient', '-', '--json'], { input: secret });
    expect(JSON.parse(out).notifications).toMatchObject([{ log_id: 'done-1', state: 'delivered' }]);
    expect(out).not.toContain(secret);
  });

  it('finds a recipient in all tenants, which nothing else does', async () => {
    // Nothing comes from stdin: it is refused before that is read.
    const { code, err } = await ops.run(['replay', '--recipient', '-', '--yes']);
    expect([code, err]).toEqual([2, expect.stringContaining('--recipient needs --tenant')]);
    const { out } = await ops.run(['list', '--recipient', '-', '--json'], { input: secret });
    expect(JSON.parse(out).notifications).toMatchObject([{ log_id: 'done-1' }]);
  });

  it.each([
    [['--cursor', 'nonsense'], '--cursor is not from this list'],
    [['--from', '1h', '--to', '2h'], 'exchange them'],
    [['--status', 'gone'], 'It must be one of unfinished, due, waiting, held, in_flight, dead, PENDING'],
    [['--limit', 'many'], 'a whole number, 1 or more'],
    [['--channel', 'fax'], 'Allowed choices are email, slack, teams, webhook'],
    [['--chanel', 'slack'], "unknown option '--chanel'\n(Did you mean --channel?)"],
    [['dlq', 'redrive', '--chanel', 'slack'], "unknown option '--chanel'\n(Did you mean --channel?)"],
    [['dlq', 'redrive'], 'missing required option: --channel <C>'],
    [['keys', 'create'], 'missing required options: --tenant <ID>, --scope <SCOPE>'],
  ])('refuses %j with a sentence and exit code 2', async (args, sentence) => {
    const { code, out, err } = await ops.run(args[0]?.startsWith('--') ? ['list', ...args] : args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(sentence);
  });

  it('does not accept the cursor of another list', async () => {
    const { next_cursor } = await ops.json<List>('list', '--limit', '1');
    const { code, err } = await ops.run(['list', '--status', 'dead', '--cursor', String(next_cursor)]);
    expect(code).toBe(2);
    expect(err).toContain('--cursor is not from this list');
  });

  it('says which period it covers if nothing matches', async () => {
    const saidOf = async (...args: string[]) => {
      const { code, err } = await ops.run(['list', '--tenant', 'nobody', ...args]);
      return [code, err];
    };
    expect(await saidOf()).toEqual([0, 'Nothing matches. Without --from the list covers the last 24 hours.\n']);
    for (const args of [
      ['--status', 'held'],
      ['--status', 'dead'],
      ['--from', '2d'],
    ])
      expect(await saidOf(...args)).toEqual([0, 'Nothing matches.\n']);
  });
});

describe('show', () => {
  it('shows the row, the attempts in their order, and the remedy', async () => {
    for (const retry_attempt of [10, 2]) {
      const record = { original_log_id: 'dead-1', retry_attempt, retry_status: 'FAILED', error_type: 'AUTH_FAILED' };
      const TableName = ops.tables.notification_retry_log;
      await ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(record) }));
    }
    const shown = await ops.json('show', 'dead-1');
    expect(Object.keys(shown)).toEqual(['notification', 'attempts', 'remedy']);
    expect(shown).toMatchObject({
      notification: { log_id: 'dead-1', state: 'dead', failure_reason: 'AUTH_FAILED' },
      attempts: [{ retry_attempt: 2 }, { retry_attempt: 10 }],
      remedy: expect.stringContaining('credential'),
    });
    const { out } = await ops.run(['show', 'dead-1']);
    expect(out).toMatch(/^dead-1 {2}dead\n/);
    expect(out).toMatch(
      /\nWhat to do: Check the integration.*\nTo redrive: npm run ops -- retry dead-1 --redrive\nAll of slack: npm run ops -- dlq redrive --channel slack\n$/,
    );
  });

  it('shows what its writer noted of its own attempt, addresses masked, and nothing else of the content', async () => {
    const row = storedRow('noted', { tenant_id: 'T1' });
    await ops.put(row);
    const noted = { response_message: 'no a@example.com', error_details: '{"error":"channel_not_found"}' };
    const content = { log_id: 'noted', tenant_id: row.tenant_id, subject: 'Secret', message_body: 'Secret' };
    const TableName = ops.tables.notification_content;
    await ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem({ ...content, ...noted }) }));
    const shown = { writer_response_message: 'no …', writer_error_details: noted.error_details };
    expect(await ops.json('show', 'noted')).toMatchObject({ notification: shown });
    expect((await ops.run(['show', 'noted'])).out).toContain('channel_not_found');
    expect(JSON.stringify(await ops.json('show', 'noted'))).not.toContain('Secret');
  });

  it('shows the effect of an outage on the attempts, and omits empty fields', async () => {
    const id = 'waiting-1';
    const records = [
      { retry_attempt: 1, retry_status: 'FAILED', response_message: 'it answered 503', uncounted: true },
      { retry_attempt: 2, retry_status: 'SKIPPED', error_details: '{"breaker":"webhook#IC005"}', uncounted: true },
      { retry_attempt: 3, retry_status: 'FAILED', response_message: 'it answered 500', error_details: '{"a":1}' },
    ];
    const TableName = ops.tables.notification_retry_log;
    for (const record of records) {
      const Item = toItem({ original_log_id: id, error_type: 'SERVER_OVERLOAD', ...record });
      await ops.dynamodb.send(new PutItemCommand({ TableName, Item }));
    }
    const { out } = await ops.run(['show', id]);
    expect(out.match(/^ {6}\d .*$/gm)?.map((line) => line.replace(/^.*– +/, ''))).toEqual([
      'it answered 503 (used up no retry)',
      'held: webhook#IC005 is down',
      'it answered 500',
    ]);
    expect(out).not.toMatch(/^ {2}\w+ *$/m);
    expect(out).not.toContain('To redrive');
    expect((await ops.run(['show', 'stopped-1'])).out).toMatch(
      /\nTo correct, with the address on stdin: npm run ops -- correct stopped-1 --recipient -\n$/,
    );
  });

  it('shows the last failure as its details describe it, with addresses masked', async () => {
    const error_details = '{"attempt":2,"type":"AUTH_FAILED","message":"denied for someone@example.com"}';
    await ops.put(deadRow('dead-details', { error_details }));
    const { notification } = await ops.json<{ notification: object }>('show', 'dead-details');
    const masked = '{"attempt":2,"type":"AUTH_FAILED","message":"denied for …"}';
    expect(notification).toMatchObject({ error_details: masked });
    const { out } = await ops.run(['show', 'dead-details']);
    expect(out).toMatch(/^ {2}error_details +\{"attempt":2,.*denied for …"\}$/m);
  });

  it('never shows recipient or content, even of a row that contains them', async () => {
    await ops.put({
      log_id: 'aside',
      tenant_id: 'T1',
      notification_type: 'FAX',
      recipient_address: secret,
      subject: 'top secret',
      message_body: 'top secret',
      send_status: 'FAILED',
      failure_reason: 'FORMAT_ERROR',
      error_message: `550 no such user <${secret}>`,
    });
    for (const args of [
      ['show', 'aside'],
      ['show', 'aside', '--json'],
    ]) {
      const { out } = await ops.run(args);
      expect(out).toContain('set_aside');
      for (const hidden of [secret, 'top secret']) expect(out).not.toContain(hidden);
    }
  });

  it('has no remedy for a delivered notification', async () => {
    expect(await ops.json('show', 'done-1')).toMatchObject({ notification: { state: 'delivered' }, remedy: null });
  });

  it('says what to do about an unknown id', async () => {
    expect(await ops.run(['show', 'nobody', '--json'])).toEqual({
      code: 1,
      out: '',
      err: '✗ There is no notification nobody: look for its log_id with `npm run ops -- list`.\n',
    });
  });
});
