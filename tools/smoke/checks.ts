import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMessageMoveTasksCommand, SendMessageBatchCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { createClaimStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { receiveLetters } from '../../src/adapters/sqs/dead-letters.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { type SmokeAccount, until } from './account.ts';
import { OUTCOME_QUEUE_OUTPUT } from './stack.ts';

/** A step of the first hour, and how a run finds out whether AWS does it. */
export interface Check {
  readonly name: string;
  /** What is compared, for the reader of the plan. */
  readonly expects: string;
  /** Why an emulator cannot show it; absent: `npm run test:emulator` runs it. */
  readonly only_aws?: string;
  run(account: SmokeAccount): Promise<void>;
}

const INDEXED_WITHIN_S = 90;
const SENT_WITHIN_S = 120;
/** SES publishes an event within minutes of the mail. */
const EVENT_WITHIN_S = 600;

/** A row as the table document has it, without a column of ours. */
function foreignRow(log_id: string, changes: Readonly<Record<string, unknown>>) {
  return {
    log_id,
    tenant_id: 'SMOKE',
    notification_id: 'SMOKE001',
    notification_type: 'EMAIL',
    recipient_address: 'success@simulator.amazonses.com',
    subject: 'Smoke test',
    message_body: 'Sent by npm run smoke:aws.',
    message_format: 'PLAIN',
    send_status: 'FAILED',
    send_attempts: 1,
    created_at: new Date().toISOString(),
    ...changes,
  };
}

const claim: Check = {
  name: 'claim',
  expects: 'the PartiQL claim takes a due row once, and its second failure brings the row along without a read',
  async run({ dynamodb, outputs, put, id }) {
    const log_id = id('claim');
    // Far away, so that no sweep takes it.
    const due = new Date(Date.now() + 86_400_000).toISOString();
    await put({
      ...foreignRow(log_id, {}),
      channel: 'email',
      priority: 'normal',
      attempts_left: 5,
      last_attempt: 0,
      retry_count: 0,
      first_attempt_at: due,
      work_queue: workQueueOf('due', 'normal', log_id),
      work_at: due,
    });
    const commands: (string | undefined)[] = [];
    dynamodb.middlewareStack.add(
      (next, context) => (args) => {
        commands.push(context.commandName);
        return next(args);
      },
      { step: 'initialize', name: 'smoke-commands' },
    );
    const store = createClaimStore(dynamodb, outputs['NotificationLogTable'] ?? '', () => new Date());
    const routing = { version: 1, tenant_id: 'SMOKE', channel: 'email', priority: 'normal', run_id: 'smoke' } as const;
    const message = { ...routing, log_id, due };
    const first = await store.claim(message, due, 'claim-1');
    const second = await store
      .claim(message, due, 'claim-2')
      .finally(() => dynamodb.middlewareStack.remove('smoke-commands'));
    assert.equal(first.claimed, true);
    assert.equal(first.row?.send_attempts, 2);
    assert.equal(second.claimed, false);
    assert.equal(second.row?.send_status, 'SENDING');
    assert.deepEqual(commands, ['BatchExecuteStatementCommand', 'BatchExecuteStatementCommand']);
  },
};

const filters: Check = {
  name: 'filters',
  expects: 'the stream filter hands the indexer failed, delivered and malformed rows of others',
  async run({ put, rowWhen, id }) {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    await put(foreignRow(id('failed'), { next_retry_at: later }));
    await put(foreignRow(id('delivered'), { send_status: 'SUCCESS' }));
    const { send_status: _, ...withoutStatus } = foreignRow(id('malformed'), {});
    await put(withoutStatus);
    await rowWhen(id('failed'), INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    await rowWhen(id('delivered'), INDEXED_WITHIN_S, (row) => row['history_bucket'] !== undefined);
    await rowWhen(id('malformed'), INDEXED_WITHIN_S, (row) => row['failure_reason'] === 'FORMAT_ERROR');
  },
};

const writers: Check = {
  name: 'rights of writers',
  only_aws: 'ministack evaluates no dynamodb:Attributes',
  expects: 'IAM lets a writer put the columns of the table document, and denies each put of a column of ours',
  async run({ putAsWriter, row, id }) {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const columns = { next_retry_at: later };
    const allowed = await putAsWriter(foreignRow(id('writer'), columns));
    assert.equal(allowed.put, true, `a put of the document's columns was denied: ${JSON.stringify(allowed)}`);
    assert.notEqual(await row(id('writer')), undefined);
    const ours = { work_queue: workQueueOf('due', 'urgent', 'x'), claim_until: later, record_due: '{}' };
    for (const [column, value] of Object.entries(ours)) {
      const log_id = id(`writer-${column}`);
      const { put } = await putAsWriter(foreignRow(log_id, { ...columns, [column]: value }));
      assert.equal(put, false, `a writer could put ${column}`);
      assert.equal(await row(log_id), undefined);
    }
  },
};

const transformers: Check = {
  name: 'input transformers',
  only_aws: 'ministack publishes no events of SES',
  expects: 'a delivery, a bounce and a complaint of SES’s mailbox simulator reach their rows',
  async run({ put, rowWhen, sweep, id }) {
    const mails = { success: 'delivered_at', bounce: 'bounced_at', complaint: 'complained_at' };
    for (const name of Object.keys(mails)) {
      await put(foreignRow(id(name), { recipient_address: `${name}@simulator.amazonses.com` }));
      await rowWhen(id(name), INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    }
    await sweep({ channel: 'email' });
    for (const [name, column] of Object.entries(mails)) {
      await rowWhen(id(name), EVENT_WITHIN_S, (row) => row[column] !== undefined);
    }
  },
};

const delays: Check = {
  name: 'delays',
  expects: 'SQS takes a message with DelaySeconds and MessageGroupId together, and a retry goes out when it is due',
  async run({ sqs, outputs, put, rowWhen, sweep, id }) {
    const lanes: Record<string, Record<string, string>> = JSON.parse(outputs['LaneQueues'] ?? '{}');
    // Of no row: the worker drops it.
    const nobody = { version: 1, log_id: id('nobody'), tenant_id: 'SMOKE', run_id: 'smoke', priority: 'normal' };
    for (const channel of CHANNELS) {
      const QueueUrl = lanes[channel]?.['standard'];
      const MessageBody = JSON.stringify({ ...nobody, channel, due: new Date().toISOString() });
      const entry = { Id: '1', MessageBody, DelaySeconds: 5, MessageGroupId: 'SMOKE' };
      const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [entry] }));
      assert.deepEqual(Failed, []);
    }
    const due = Date.now() + 120_000;
    await put(foreignRow(id('delayed'), { next_retry_at: new Date(due).toISOString() }));
    await rowWhen(id('delayed'), INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    // A look ahead by the stage's own schedule may come first, and then this one finds the message queued.
    await sweep({ channel: 'email' });
    const row = await rowWhen(id('delayed'), SENT_WITHIN_S + 120, (one) => one['send_status'] === 'SUCCESS');
    const late = Date.parse(String(row['sent_at'])) - due;
    assert.ok(late >= 0 && late < 15_000, `it was sent ${late} ms after it was due`);
  },
};

const redrive: Check = {
  name: 'native redrive',
  expects: 'SQS moves a dead letter back to its lane, and the worker takes it for a redrive',
  only_aws: 'ministack has no message move tasks',
  async run({ sqs, outputs, put, rowWhen, sweep, id }) {
    // A Slack channel without a credential is AUTH_FAILED, before anything is sent.
    const slack = { notification_type: 'SLACK', recipient_address: '#smoke', integration_config_id: 'smoke-none' };
    const dead = id('dead');
    await put(foreignRow(dead, slack));
    await rowWhen(dead, INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    await sweep({ channel: 'slack' });
    await rowWhen(dead, SENT_WITHIN_S, (row) => row['failure_reason'] === 'AUTH_FAILED');
    const url: string = JSON.parse(outputs['DeadLetterQueues'] ?? '{}').slack;
    // The row is dead before its letter is: SQS moves it after some more receives. A redrive before that moves nothing.
    const hidden_seconds = 2;
    await until('the letter is in the dead-letter queue', SENT_WITHIN_S, async () =>
      (await receiveLetters(sqs, url, { hidden_seconds })).some(({ body }) => body.includes(dead)),
    );
    await sleep(2 * hidden_seconds * 1_000);
    const [region, account, name] = [url.split('.')[1], ...url.split('/').slice(-2)];
    const SourceArn = `arn:aws:sqs:${region}:${account}:${name}`;
    await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    await rowWhen(dead, SENT_WITHIN_S, (row) => row['redrive_count'] === 1);
    const { Results = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn }));
    assert.notEqual(Results[0]?.Status, 'FAILED');
  },
};

/** Waits until the queue of the rule has what the bus was told of a row. */
async function isTold(account: SmokeAccount, kind: string, log_id: string): Promise<void> {
  await account.taken(`${kind} of ${log_id}`, OUTCOME_QUEUE_OUTPUT, (body) => {
    const event = JSON.parse(body);
    return event['detail-type'] === kind && event.detail.log_id === log_id;
  });
}

const outcomes: Check = {
  name: 'outcomes',
  expects: 'a rule of the event bus puts into a queue that a malformed row was given up',
  async run(account) {
    const { send_status: _, ...malformed } = foreignRow(account.id('told'), {});
    await account.put(malformed);
    await isTold(account, 'Notification Given Up', malformed.log_id);
  },
};

const deliveries: Check = {
  name: 'outcomes of deliveries',
  only_aws: 'ministack’s streams show no write by PartiQL',
  expects: 'the same queue gets that a notification was delivered',
  async run(account) {
    const log_id = account.id('delivered-told');
    await account.put(foreignRow(log_id, {}));
    await account.rowWhen(log_id, INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    await account.sweep({ channel: 'email' });
    await isTold(account, 'Notification Delivered', log_id);
  },
};

/** What becomes of rows. */
export const ROW_CHECKS: readonly Check[] = [
  ...[claim, filters, writers, transformers, delays],
  ...[outcomes, deliveries, redrive],
];
