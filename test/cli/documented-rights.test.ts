import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createBreakerStore } from '../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { contentItem } from '../../src/adapters/dynamodb/delivery/content-items.ts';
import { createIntakeStore } from '../../src/adapters/dynamodb/intake/intake-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { recipientHash } from '../../src/adapters/signing/hashed-ids.ts';
import { emailAccess } from '../../src/application/emails/email-access.ts';
import { opened } from '../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../src/core/breaker/breaker-policy.ts';
import { accept } from '../../src/core/intake/accept.ts';
import type { Channel } from '../../src/core/model/channels.ts';
import type { Email } from '../../src/core/newsletter/model/email.ts';
import { intakeRequest, memoryIntake } from '../support/api/intake.ts';
import {
  deadRow,
  HASH_KEY,
  type Operations,
  startOperations,
  stoppedRow,
  storedRow,
} from '../support/cli/operations.ts';
import { recordingActions } from '../support/cli/recorded-calls.ts';
import { retryRecord } from '../support/delivering.ts';
import { OPERATOR_COMMANDS, OPERATOR_SECTION } from '../support/docs/operator-commands.ts';
import { OPERATOR_ATTEMPTS } from '../support/emulator/operator-attempts.ts';
import { startLoopback } from '../support/loopback.ts';
import { batchRow, chunkState, emailContent, emailRow, recipient } from '../support/newsletter/job-rows.ts';
import { createTables } from '../support/tables.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const LETTER = { version: 1, tenant_id: 'T1', channel: 'webhook', priority: 'normal', due: new Date().toISOString() };
const dead = async (log_id: string) => {
  const dead_message_id = await ops.sendDeadLetter('webhook', { ...LETTER, log_id, run_id: `sweep-${log_id}` });
  await ops.put(deadRow(log_id, { dead_message_id, tenant_id: 'T1' }));
};
const key = async () =>
  (await ops.json<{ key_id: string }>('keys', 'create', '--tenant', 'T1', '--scope', 'send')).key_id;

/** Imports members of T1, so that a command finds them. */
const importOf = async (name: string, ...lines: readonly string[]): Promise<CommandLine> => {
  const at = new Date().toISOString();
  const newsletter = { tenant_id: 'T1', newsletter_id: 'weekly', name: 'N', from: 'n@example.com' };
  const store = createNewsletterStore(ops.dynamodb, ops.tables.newsletters);
  await store.put({ ...newsletter, created_at: at, updated_at: at });
  const file = join(ops.directory, `${name}.csv`);
  writeFileSync(file, ['member_id,email', ...lines].join('\n'));
  return ['members', 'import', file, '--tenant', 'T1', '--newsletter', 'weekly'];
};

const FORGOTTEN = 'forgotten@example.com';

type CommandLine = readonly string[];

/** An email with one uncertain and one failed recipient, in the state that a command needs. */
async function email({ tenant_id = 'T1', ...set }: Partial<Email> = {}): Promise<string> {
  const { deployment, dynamodb, sqs } = ops;
  let serial = 0;
  const access = emailAccess({ deployment, dynamodb, sqs, clock: () => new Date(), newId: () => `rights-${++serial}` });
  const email_id = `rights-${randomUUID()}`;
  const at = new Date().toISOString();
  const common = { tenant_id, name: 'Weekly', from: 'n@example.com', created_at: at, updated_at: at };
  await access.newsletters.put({ ...common, newsletter_id: 'weekly' });
  const prepared = { recipients: 2, excluded: 0, excluded_by_reason: {}, batches: 1, at };
  const row = emailRow({ email_id, tenant_id, newsletter_id: 'weekly', prepared, created_at: at, ...set });
  await access.emails.create(row, emailContent());
  const counts = { pending: 0, submitted: 0, excluded: 0, failed: 1, uncertain: 1 };
  await access.batches.put(batchRow({ email_id, tenant_id, status: 'failed', counts }));
  const place = { email_id, batch_id: '00000', chunk: 0 };
  const state = chunkState('uf', place);
  const chunk = { ...place, tenant_id, recipients: [recipient(0), recipient(1)] };
  await access.chunks.put([{ chunk, state }]);
  return email_id;
}

/** What each command is run with, so that it makes every call that it can make. */
const SCENARIOS: Readonly<Record<string, () => Promise<readonly CommandLine[]>>> = {
  status: async () => {
    const at = { now: new Date(), policy: DEFAULT_BREAKER_POLICY };
    const breakers = createBreakerStore(ops.dynamodb, ops.tables.pipeline_state, () => new Date());
    await breakers.write(opened({ id: 'teams#down', error_type: 'NETWORK_TIMEOUT' }, undefined, at));
    await ops.put(storedRow('status-held', { channel: 'teams', integration_config_id: 'down' }));
    return [['status']];
  },
  sweeps: async () => [['sweeps']],
  audit: async () => [['audit']],
  list: async () => {
    await dead('list-dead');
    return [['list'], ['list', '--status', 'dead'], ['list', '--status', 'due', '--tenant', 'T1']];
  },
  show: async () => {
    await dead('show');
    return [['show', 'show']];
  },
  retry: async () => {
    await dead('retry-dead');
    // A letter that is not replaced is shown again.
    await ops.sendDeadLetter('webhook', { ...LETTER, log_id: 'without-row', run_id: 'sweep-1' });
    await ops.put(storedRow('retry-due'), stoppedRow('retry-stopped', 'CANCELLED'));
    const delivered = storedRow('retry-due', { send_status: 'SUCCESS' });
    setTimeout(() => ops.put(delivered), 1_000);
    return [
      ['retry', 'retry-due', '--wait'],
      ['retry', 'retry-dead', 'retry-stopped'],
      ['retry', '--redrive', 'retry-dead'],
    ];
  },
  correct: async () => {
    const letter = { ...LETTER, channel: 'email', log_id: 'correct', run_id: 'sweep-correct' } as const;
    const dead_message_id = await ops.sendDeadLetter('email', letter);
    await ops.sendDeadLetter('email', { ...letter, log_id: 'without-row' });
    const row = deadRow('correct', { tenant_id: 'T1', channel: 'email', dead_message_id });
    const owner = { log_id: 'correct', tenant_id: 'T1', expires_at: 9_999_999_999 };
    const content = { recipient: 'before@example.com', body: 'x', format: 'PLAIN' } as const;
    const Item = await contentItem(ops.deployment.sealer(ops.dynamodb), owner, content);
    await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item }));
    await ops.put(row);
    return [['correct', 'correct', '--recipient', '-', '--integration', 'ic-every']];
  },
  cancel: async () => {
    const claim_until = new Date(Date.now() - 1_000).toISOString();
    await ops.put(storedRow('cancel-due'), storedRow('cancel-died', { send_status: 'SENDING', claim_until }));
    await dead('cancel-dead');
    return [['cancel', 'cancel-due', 'cancel-died', 'cancel-dead']];
  },
  replay: async () => {
    await dead('replay-dead');
    // A letter that the replay does not replace is shown again.
    await ops.sendDeadLetter('webhook', { ...LETTER, log_id: 'without-row', run_id: 'sweep-1' });
    return [['replay', '--include-stopped', '--yes']];
  },
  reconcile: async () => [['reconcile', '--dry-run'], ['reconcile']],
  'outcomes resend': async () => {
    const ended = { send_status: 'SUCCESS', sent_at: new Date(Date.now() - 7_200_000).toISOString() } as const;
    await ops.put(storedRow('told', ended));
    await ops.run(await importOf('told', 'told,told@example.com'));
    await ops.run(['members', 'suppress', 'told', '--tenant', 'T1']);
    const period = ['--from', '1d', '--to', new Date(Date.now() + 60_000).toISOString()];
    return [
      ['outcomes', 'resend', ...period],
      ['outcomes', 'resend', ...period, '--dry-run'],
    ];
  },
  verify: async () => {
    await ops.put(storedRow('verified', { tenant_id: 'T9' }));
    const Item = toItem({ log_id: 'verified', tenant_id: 'T9' });
    await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item }));
    await email({ tenant_id: 'T9', status: 'submitted' });
    return [
      ['verify', '--tenant', 'T9'],
      ['verify', '--tenant', 'T9', '--letters'],
    ];
  },
  restore: async () => {
    const copies = await createTables(ops.dynamodb, `rights-${randomUUID()}`);
    const put = (TableName: string, item: object) =>
      ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(item) }));
    const words = { recipient: 'lost@example.com', body: 'words', format: 'PLAIN' } as const;
    const owner = { log_id: 'lost', tenant_id: 'T1', expires_at: Date.now() };
    const Item = await contentItem(ops.deployment.sealer(ops.dynamodb), owner, words);
    await put(copies.notification_log, storedRow('lost', { tenant_id: 'T1', last_attempt: 0 }));
    await ops.dynamodb.send(new PutItemCommand({ TableName: copies.notification_content, Item }));
    await put(copies.notification_retry_log, retryRecord({ original_log_id: 'lost', retry_log_id: 'lost#1' }));
    const accepted = intakeRequest(randomUUID());
    const store = createIntakeStore({
      client: ops.dynamodb,
      tables: ops.tables,
      sealer: ops.deployment.sealer(ops.dynamodb),
      hashKey: async () => HASH_KEY,
    });
    const { log_id } = await accept(accepted, { ...memoryIntake().deps, store, clock: () => new Date() });
    const Key = { log_id: { S: log_id } };
    await ops.dynamodb.send(new DeleteItemCommand({ TableName: ops.tables.notification_log, Key }));
    const tables = ['--log', copies.notification_log, '--content', copies.notification_content];
    const records = ['--records', copies.notification_retry_log];
    return [
      ['restore', '--stop'],
      ['restore', ...tables, ...records, '--restored-to', '1h', '--yes'],
      ['restore', '--start'],
    ];
  },
  'newsletters create': async () => {
    const from = ['--name', 'Weekly', '--from', 'n@example.com'];
    return [['newsletters', 'create', 'weekly', '--tenant', 'T1', ...from]];
  },
  'newsletters list': async () => [['newsletters', 'list', '--tenant', 'T1']],
  'newsletters show': async () => {
    await email();
    return [['newsletters', 'show', 'weekly', '--tenant', 'T1']];
  },
  forget: async () => {
    const claim_until = new Date(Date.now() - 60_000).toISOString();
    await ops.run(await importOf('forget', 'forgotten,forgotten@example.com'));
    const recipient_hash = recipientHash(HASH_KEY, 'T1', FORGOTTEN);
    const row = { tenant_id: 'T1', recipient_hash };
    await ops.put(
      storedRow('forget-due', row),
      storedRow('forget-died', { ...row, send_status: 'SENDING', claim_until }),
    );
    const content = { recipient: FORGOTTEN, body: 'x', format: 'PLAIN' } as const;
    const records = { original_log_id: 'forget-due', retry_attempt: 1, response_message: 'no' };
    const { notification_content, notification_retry_log } = ops.tables;
    const sealer = ops.deployment.sealer(ops.dynamodb);
    const owner = { log_id: 'forget-due', tenant_id: 'T1', expires_at: 9_999_999_999 };
    const item = await contentItem(sealer, owner, content);
    await ops.dynamodb.send(new PutItemCommand({ TableName: notification_content, Item: item }));
    const orphan = await contentItem(sealer, { ...owner, log_id: 'forget-orphan' }, content);
    await ops.dynamodb.send(new PutItemCommand({ TableName: notification_content, Item: orphan }));
    await ops.dynamodb.send(new PutItemCommand({ TableName: notification_retry_log, Item: toItem(records) }));
    return [['forget', '--tenant', 'T1', '--recipient', '-']];
  },
  'rows import': async () => {
    const taken = { id: 'show', tenant_id: 'T1', notification_type: 'EMAIL', send_status: 'FAILED' };
    const file = join(ops.directory, 'his.json');
    writeFileSync(file, JSON.stringify([{ ...taken, recipient_address: 'a@example.com', message_body: 'x' }]));
    return [
      ['rows', 'import', file, '--tenant', 'T1'],
      ['rows', 'import', file, '--tenant', 'T1'],
    ];
  },
  'senders allow': async () => [['senders', 'allow', 'news@example.com', '--tenant', 'T8']],
  'senders revoke': async () => [['senders', 'revoke', 'news@example.com', '--tenant', 'T8']],
  'senders list': async () => [['senders', 'list', '--tenant', 'T8']],
  'emails send': async () => {
    await email();
    const post = join(ops.directory, 'post.md');
    writeFileSync(post, '# Hello\n\nText');
    // Who has just moved is looked for by its id.
    for (const address of ['send', 'moved'])
      await ops.json(...(await importOf(address, `moves,${address}@example.com`)));
    const send = ['emails', 'send', post, '--tenant', 'T1', '--newsletter', 'weekly'];
    return [[...send, '--dry-run'], send];
  },
  'emails preview': async () => {
    await ops.json(...(await importOf('preview', 'preview,preview@example.com')));
    const prepared = { recipients: 3, excluded: 0, excluded_by_reason: {}, batches: 1, at: new Date().toISOString() };
    return [
      ['emails', 'preview', await email(), '--member', 'preview'],
      ['emails', 'preview', await email({ status: 'submitted', prepared })],
      ['emails', 'preview', await email({ status: 'submitted', prepared }), '--member', 'preview'],
    ];
  },
  'emails test': async () => [['emails', 'test', await email(), '--to', 'me@example.com']],
  'emails replace': async () => {
    const email_id = await email({ status: 'pending' });
    const post = join(ops.directory, 'post.md');
    writeFileSync(post, '# Hello\n\nText');
    return [['emails', 'replace', email_id, post]];
  },
  'emails list': async () => {
    await email({ status: 'submitted' });
    return [['emails', 'list', '--tenant', 'T1']];
  },
  'emails status': async () => [['emails', 'status', await email()]],
  'emails retry': async () => [['emails', 'retry', await email({ status: 'failed', error: 'x' })]],
  'emails pause': async () => [['emails', 'pause', await email()]],
  'emails resume': async () => [['emails', 'resume', await email({ paused: true })]],
  'emails cancel': async () => [['emails', 'cancel', await email({ status: 'submitting' })]],
  'emails recipients': async () => [['emails', 'recipients', await email(), '--state', 'failed', '--addresses']],
  'emails resolve': async () => [
    ['emails', 'resolve', await email({ status: 'submitted' }), '--leave'],
    ['emails', 'resolve', await email({ status: 'submitted' }), '--resend'],
  ],
  'dlq list': async () => {
    await dead('dlq-list');
    return [['dlq', 'list']];
  },
  'dlq show': async () => {
    await dead('dlq-show');
    return [['dlq', 'show', 'dlq-show']];
  },
  'dlq redrive': async () => [['dlq', 'redrive', '--channel', 'slack', '--yes']],
  'dlq drop': async () => {
    await dead('dlq-drop');
    return [
      ['dlq', 'drop', 'dlq-drop'],
      ['dlq', 'drop', '--channel', 'webhook', '--all', '--yes'],
    ];
  },
  'keys create': async () => [['keys', 'create', '--tenant', 'T1', '--scope', 'send']],
  'keys list': async () => [['keys', 'list']],
  'keys rotate': async () => [['keys', 'rotate', await key()]],
  'keys revoke': async () => [['keys', 'revoke', await key()]],
  'members import': async () => {
    const members = createMemberStore(ops.dynamodb, ops.tables.members, () => new Date());
    await ops.run(await importOf('before', 'stays,stays@example.com', 'moves,old@example.com'));
    const { email_hash = '' } = (await members.read('T1', 'moves')) ?? {};
    await members.unsubscribe('T1', email_hash, 'weekly', new Date().toISOString());
    return [await importOf('after', 'stays,stays@example.com', 'moves,new@example.com', 'new,n@example.com')];
  },
  'members export': async () => {
    await ops.json(...(await importOf('export', 'rights-export,export@example.com')));
    return [['members', 'export', join(ops.directory, 'rights.csv'), '--tenant', 'T1']];
  },
  'members show': async () => {
    await ops.run(await importOf('show', 'm,m@example.com'));
    return [
      ['members', 'show', 'm', '--tenant', 'T1'],
      ['members', 'show', '--email', 'm@example.com', '--tenant', 'T1'],
    ];
  },
  'members suppress': async () => {
    await ops.run(await importOf('suppress', 'm,m@example.com'));
    return [
      ['members', 'suppress', 'm', '--tenant', 'T1'],
      ['members', 'suppress', '--email', 'm@example.com', '--tenant', 'T1'],
    ];
  },
  'members unsuppress': async () => {
    await ops.run(await importOf('unsuppress', 'm,m@example.com'));
    return [
      ['members', 'unsuppress', 'm', '--tenant', 'T1'],
      ['members', 'unsuppress', '--email', 'm@example.com', '--tenant', 'T1'],
    ];
  },
};

/** Where a service answers that the stand-ins lack. */
interface Endpoints {
  readonly sqs?: string;
  readonly lambda?: string;
  readonly ses?: string;
  readonly eventbridge?: string;
}

/** Runs command lines as on AWS, and returns the actions of their calls. */
async function actionsOf(lines: readonly CommandLine[], endpoints: Endpoints = {}): Promise<string[]> {
  const { actions, clients } = recordingActions(ops.deployment);
  const { region, credentials } = ops.deployment.clients.sqs;
  const findDeployment = async () => ({
    ...ops.deployment,
    recipientHashKey: () => {
      actions.add('secretsmanager:GetSecretValue');
      return ops.deployment.recipientHashKey();
    },
    integrations: (channel: Channel) => {
      actions.add('secretsmanager:GetSecretValue');
      return ops.deployment.integrations(channel);
    },
    reconciler: 'the-reconciler',
    outcomes_bus: 'the-bus',
    clients: {
      eventbridge: {
        ...clients.eventbridge,
        ...(region && { region }),
        ...(credentials && { credentials }),
        ...(endpoints.eventbridge && { endpoint: endpoints.eventbridge }),
      },
      dynamodb: clients.dynamodb,
      sqs: { ...clients.sqs, ...(endpoints.sqs && { endpoint: endpoints.sqs }) },
      lambda: {
        ...clients.lambda,
        ...(region && { region }),
        ...(credentials && { credentials }),
        ...(endpoints.lambda && { endpoint: endpoints.lambda }),
      },
    },
  });
  // What was put just now is older than what the command sends.
  let passed = 5_000;
  // What a command looks at again a minute later, without the wait.
  const pause = async (ms: number) => {
    if (ms >= 1_000) passed += ms;
    else await new Promise((resolve) => setTimeout(resolve, Math.min(ms, 50)));
  };
  const clock = () => new Date(Date.now() + passed);
  const more = { findDeployment, answer: 'y', input: FORGOTTEN, clock, pause };
  for (const line of lines) {
    const { code, err } = await ops.run(line, more);
    // Verified are all that the others have left here.
    expect(line[0] === 'restore' ? [0, 1] : [0], `${line.join(' ')}: ${err}`).toContain(code);
  }
  return [...actions].sort();
}

/** An SQS that has redriven everything at once. The stand-in has no message move tasks. */
async function startMovingSqs() {
  const server = await startLoopback();
  let started = 0;
  server.answer = (response, { headers }) => {
    const action = String(headers['x-amz-target']).replace('AmazonSQS.', '');
    if (action === 'StartMessageMoveTask') started += 1;
    const Attributes = { QueueArn: 'arn:aws:sqs:us-east-1:000000000000:dead', ApproximateNumberOfMessages: '2' };
    const done = { Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 2, StartedTimestamp: started };
    const Results = started > 0 ? [done] : [];
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify({ Attributes, Results, TaskHandle: 'task' }));
  };
  return server;
}

/** An SES in which every sender is verified, and that takes one mail. */
async function startSes() {
  const server = await startLoopback();
  server.answer = (response) => {
    const BulkEmailEntryResults = [{ Status: 'SUCCESS', MessageId: 'm' }];
    const body = JSON.stringify({ VerifiedForSendingStatus: true, SendingEnabled: true, BulkEmailEntryResults });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
  vi.stubEnv('AWS_ENDPOINT_URL_SESV2', server.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
  return server;
}

/** A reconciler that has nothing to do. */
async function startReconciler() {
  const server = await startLoopback();
  const counts = { scanned: 0, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(counts));
  };
  return server;
}

/** A bus that takes everything. */
async function startBus() {
  const server = await startLoopback();
  server.answer = (response, { body }) => {
    const { Entries } = JSON.parse(body);
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: '1' })) }));
  };
  return server;
}

/** A stage of one schedule and one event source, by CloudFormation, EventBridge and Lambda. */
async function startStage() {
  const server = await startLoopback();
  const member = (type: string, id: string) =>
    `<member><ResourceType>${type}</ResourceType><PhysicalResourceId>${id}</PhysicalResourceId></member>`;
  const resources = member('AWS::Events::Rule', 'sweep') + member('AWS::Lambda::EventSourceMapping', 'lane');
  const listed = `<ListStackResourcesResult><StackResourceSummaries>${resources}</StackResourceSummaries></ListStackResourcesResult>`;
  server.answer = (response, { body }) => {
    const isXml = body.includes('Action=ListStackResources');
    const its = {
      Description: 'notification-retry dev: sweep',
      FunctionArn: 'arn:aws:lambda:us-east-1:1:function:sweep',
    };
    const json = JSON.stringify({ State: 'Enabled', ScheduleExpression: 'rate(1 hour)', ...its });
    response.writeHead(200, { 'content-type': isXml ? 'text/xml' : 'application/json' });
    response.end(isXml ? `<ListStackResourcesResponse>${listed}</ListStackResourcesResponse>` : json);
  };
  vi.stubEnv('AWS_ENDPOINT_URL_CLOUDFORMATION', server.url);
  vi.stubEnv('AWS_ENDPOINT_URL_EVENTBRIDGE', server.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
  return server;
}

const SERVERS: Readonly<Record<string, readonly [keyof Endpoints, typeof startReconciler]>> = {
  'dlq redrive': ['sqs', startMovingSqs],
  reconcile: ['lambda', startReconciler],
  restore: ['lambda', startStage],
  'outcomes resend': ['eventbridge', startBus],
  'emails send': ['ses', startSes],
  'emails replace': ['ses', startSes],
  'emails test': ['ses', startSes],
};

describe('the rights of the operator commands', () => {
  it('are listed for every command', async () => {
    const names = async (...group: string[]) => {
      const { out } = await ops.run([...group, '--help']);
      const commands = out.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '';
      return [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => [...group, name].join(' '));
    };
    const groups = ['rows', 'dlq', 'keys', 'outcomes', 'members', 'senders', 'emails', 'newsletters'];
    const all = (await Promise.all([names(), ...groups.map((group) => names(group))])).flat();
    // The spool is on the producer's own disk, and its flush uses a key of the API.
    const without = new Set([...groups, 'spool', 'help', ...groups.map((group) => `${group} help`)]);
    const commands = all.filter((name) => !without.has(name)).sort();
    expect(commands.length).toBeGreaterThan(12);
    expect([...OPERATOR_COMMANDS.keys()].sort()).toEqual(commands);
    // The console does what the other commands do, until somebody ends it; the others ask the account itself.
    const elsewhere = ['console', 'leftovers', 'preflight'];
    expect(Object.keys(SCENARIOS).sort()).toEqual(commands.filter((name) => !elsewhere.includes(name)));
    // The emulator enforces those of each.
    expect(Object.keys(OPERATOR_ATTEMPTS).sort()).toEqual(commands.filter((name) => name !== 'console'));
  });

  it.each(Object.entries(SCENARIOS))('`%s` are those of the calls that it makes', async (name, prepare) => {
    const lines = await prepare();
    const [service, start] = SERVERS[name] ?? [];
    const server = await start?.();
    try {
      const endpoints = service === undefined || server === undefined ? {} : { [service]: server.url };
      expect(OPERATOR_COMMANDS.get(name)).toEqual(await actionsOf(lines, endpoints));
    } finally {
      await server?.close();
      vi.unstubAllEnvs();
    }
  });

  it('name what every command needs beside them', () => {
    for (const action of ['cloudformation:DescribeStacks', 'kms:Decrypt', 'secretsmanager:GetSecretValue']) {
      expect(OPERATOR_SECTION).toContain(`\`${action}\``);
    }
  });
});
