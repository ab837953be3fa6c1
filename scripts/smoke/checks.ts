import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ListMessageMoveTasksCommand, SendMessageBatchCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { createClaimStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import type { SmokeAccount } from './account.ts';
import { smokeStack } from './stack.ts';

/** A fact of AWS that no emulator vouches for, and how a run finds it out. */
export interface Check {
  readonly name: string;
  /** What is compared, for the reader of the plan. */
  readonly expects: string;
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
  async run({ dynamodb, outputs, put }) {
    const log_id = 'smoke-claim';
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
    const second = await store.claim(message, due, 'claim-2');
    dynamodb.middlewareStack.remove('smoke-commands');
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
  async run({ put, rowWhen }) {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    await put(foreignRow('smoke-failed', { next_retry_at: later }));
    await put(foreignRow('smoke-delivered', { send_status: 'SUCCESS' }));
    const { send_status: _, ...withoutStatus } = foreignRow('smoke-malformed', {});
    await put(withoutStatus);
    await rowWhen('smoke-failed', INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    await rowWhen('smoke-delivered', INDEXED_WITHIN_S, (row) => row['history_bucket'] !== undefined);
    await rowWhen('smoke-malformed', INDEXED_WITHIN_S, (row) => row['failure_reason'] === 'FORMAT_ERROR');
  },
};

const writers: Check = {
  name: 'rights of writers',
  expects: 'IAM lets a writer put the columns of the table document, and denies each put of a column of ours',
  async run({ putAsWriter, row }) {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const columns = { next_retry_at: later };
    const allowed = await putAsWriter(foreignRow('smoke-writer', columns));
    assert.equal(allowed.put, true, `a put of the document's columns was denied: ${JSON.stringify(allowed)}`);
    assert.notEqual(await row('smoke-writer'), undefined);
    const ours = { work_queue: workQueueOf('due', 'urgent', 'x'), claim_until: later, record_due: '{}' };
    for (const [column, value] of Object.entries(ours)) {
      const log_id = `smoke-writer-${column}`;
      const { put } = await putAsWriter(foreignRow(log_id, { ...columns, [column]: value }));
      assert.equal(put, false, `a writer could put ${column}`);
      assert.equal(await row(log_id), undefined);
    }
  },
};

const transformers: Check = {
  name: 'input transformers',
  expects: 'a delivery, a bounce and a complaint of SES’s mailbox simulator reach their rows',
  async run({ put, rowWhen, sweep }) {
    const mails = { success: 'delivered_at', bounce: 'bounced_at', complaint: 'complained_at' };
    for (const name of Object.keys(mails)) {
      await put(foreignRow(`smoke-${name}`, { recipient_address: `${name}@simulator.amazonses.com` }));
      await rowWhen(`smoke-${name}`, INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    }
    await sweep({ channel: 'email' });
    for (const [name, column] of Object.entries(mails)) {
      await rowWhen(`smoke-${name}`, EVENT_WITHIN_S, (row) => row[column] !== undefined);
    }
  },
};

const delays: Check = {
  name: 'delays',
  expects: 'SQS takes a message with DelaySeconds and MessageGroupId together, and a retry goes out when it is due',
  async run({ sqs, outputs, put, rowWhen, sweep }) {
    const lanes: Record<string, Record<string, string>> = JSON.parse(outputs['LaneQueues'] ?? '{}');
    const entry = { Id: '1', MessageBody: '{}', DelaySeconds: 5, MessageGroupId: 'SMOKE' };
    for (const channel of CHANNELS) {
      const QueueUrl = lanes[channel]?.['standard'];
      const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [entry] }));
      assert.deepEqual(Failed, []);
    }
    const due = Date.now() + 120_000;
    await put(foreignRow('smoke-delayed', { next_retry_at: new Date(due).toISOString() }));
    await rowWhen('smoke-delayed', INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    const { ahead } = await sweep({ channel: 'email' });
    assert.equal(ahead, 1);
    const row = await rowWhen('smoke-delayed', SENT_WITHIN_S + 120, (one) => one['send_status'] === 'SUCCESS');
    const late = Date.parse(String(row['sent_at'])) - due;
    assert.ok(late >= 0 && late < 15_000, `it was sent ${late} ms after it was due`);
  },
};

const redrive: Check = {
  name: 'native redrive',
  expects: 'SQS moves a dead letter back to its lane, and the worker takes it for a redrive',
  async run({ sqs, outputs, put, rowWhen, sweep }) {
    // A Slack channel without a credential is AUTH_FAILED, before anything is sent.
    const slack = { notification_type: 'SLACK', recipient_address: '#smoke', integration_config_id: 'smoke-none' };
    await put(foreignRow('smoke-dead', slack));
    await rowWhen('smoke-dead', INDEXED_WITHIN_S, (row) => row['work_queue'] !== undefined);
    await sweep({ channel: 'slack' });
    await rowWhen('smoke-dead', SENT_WITHIN_S, (row) => row['failure_reason'] === 'AUTH_FAILED');
    const url: string = JSON.parse(outputs['DeadLetterQueues'] ?? '{}').slack;
    const [region, account, name] = [url.split('.')[1], ...url.split('/').slice(-2)];
    const SourceArn = `arn:aws:sqs:${region}:${account}:${name}`;
    await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    await rowWhen('smoke-dead', SENT_WITHIN_S, (row) => row['redrive_count'] === 1);
    const { Results = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn }));
    assert.notEqual(Results[0]?.Status, 'FAILED');
  },
};

/** In this order: the redrive needs the time that SQS takes to move a dead letter, so it is last. */
export const CHECKS: readonly Check[] = [claim, filters, writers, transformers, delays, redrive];

/** US dollars per month, in us-east-1, for what costs by the time that it exists. */
const PER_MONTH: Readonly<Record<string, number>> = {
  'AWS::KMS::Key': 1,
  'AWS::CloudWatch::Alarm': 0.1,
  'AWS::CloudWatch::Dashboard': 3,
  'AWS::SecretsManager::Secret': 0.4,
};
/** The metrics of the functions: about 60 custom metrics, at $0.30 a month each. */
const METRICS_PER_MONTH = 60 * 0.3;
const HOURS_PER_MONTH = 730;
/** Requests, function time, logs and mails of one run together: less than this. */
const REQUESTS = 0.05;

export interface Cost {
  readonly resources: readonly { readonly type: string; readonly count: number; readonly usd: number }[];
  readonly usd: number;
}

/** What a run costs at most, in US dollars, by the hours that its stack exists. */
export function costOf(hours: number): Cost {
  const template = smokeTemplate();
  const resources = Object.entries(PER_MONTH).map(([type, monthly]) => {
    const count = Object.keys(template.findResources(type)).length;
    return { type, count, usd: (count * monthly * hours) / HOURS_PER_MONTH };
  });
  const metrics = { type: 'custom metrics', count: 60, usd: (METRICS_PER_MONTH * hours) / HOURS_PER_MONTH };
  const all = [...resources, metrics];
  return { resources: all, usd: REQUESTS + all.reduce((sum, { usd }) => sum + usd, 0) };
}

function smokeTemplate(): Template {
  const cdkJson = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'cdk.json'), 'utf8'));
  // Only the kinds of resources count here, so nothing is bundled.
  const app = new App({ context: { ...cdkJson.context, 'aws:cdk:bundling-stacks': [] } });
  return Template.fromStack(smokeStack(app, 'noreply@your-domain.example'));
}
