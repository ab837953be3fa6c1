import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { findLocalDeployment } from '../../src/adapters/deployment/local-deployment.ts';
import { successorId } from '../../src/core/delivery/failover.ts';
import { SEALED } from '../../src/core/model/notification.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

vi.setConfig({ testTimeout: 180_000 });
const flow = new Flow();
beforeAll(() => flow.start({ baseIntervalSeconds: 0.5, console: false }), 180_000);
afterAll(() => flow.end(), 60_000);

const ANN = 'Ok+Ann.Smith@Example.com';
const TENANT = 'T1';
const NAMED = /ann.smith|forget-dead-hook/i;

/** Everything that the tables hold, each sealed field opened but those of the chunks, which expire by themselves. */
async function tables(): Promise<string[]> {
  const deployment = await findLocalDeployment(flow.directory);
  const client = new DynamoDBClient(deployment.clients.dynamodb);
  const sealer = deployment.sealer(client);
  const found: string[] = [];
  for (const [role, TableName] of Object.entries(flow.endpoints.tables)) {
    for await (const { Items = [] } of paginateScan({ client }, { TableName })) {
      for (const item of Items) {
        found.push(JSON.stringify(item));
        const owner = { tenant_id: item['tenant_id']?.S ?? '' };
        const open = async (purpose: (typeof SEALED)[keyof typeof SEALED], id = '', sealed = '') => {
          if (sealed !== '') found.push(await sealer.open({ ...owner, purpose, id }, sealed));
        };
        const { log_id, member_id, encrypted_recipient, encrypted_fallback_recipient, sealed_identity } = item;
        if (role === 'members') await open(SEALED.members, member_id?.S, sealed_identity?.S);
        if (role !== 'notification_content') continue;
        await open(SEALED.recipients, log_id?.S, encrypted_recipient?.S);
        await open(SEALED.recipients, successorId(log_id?.S ?? ''), encrypted_fallback_recipient?.S);
      }
    }
  }
  client.destroy();
  return found;
}

/** What can be received of every queue. */
async function queues(): Promise<string[]> {
  const { clients } = await findLocalDeployment(flow.directory);
  const client = new SQSClient(clients.sqs);
  const found: string[] = [];
  for (const QueueUrl of Object.values(flow.endpoints.queues).flatMap((one) => Object.values(one))) {
    const ask = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 1 });
    const { Messages = [] } = await client.send(ask);
    found.push(...Messages.map(({ Body = '' }) => Body));
  }
  client.destroy();
  return found;
}

it('a forgotten recipient is in no table, queue, log or answer, and the sums are as before', async () => {
  const { simulator, api } = flow.endpoints.endpoints;
  const scopes = ['send', 'read', 'newsletters:write'].flatMap((scope) => ['--scope', scope]);
  const { key } = await flow.opsJson<{ key: string }>('keys', 'create', '--tenant', TENANT, ...scopes);
  const call = (method: string, path: string, body?: object) =>
    fetch(`${api}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': `"${path}"` },
      ...(body && { body: JSON.stringify(body) }),
    });
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  const email = { tenant_id: TENANT, notification_type: 'EMAIL', recipient_address: ANN, send_status: 'FAILED' };
  const hook = `${simulator}/webhook/flaky-9/forget-dead-hook`;
  const text = { subject: `For ${ANN}`, message_body: `Dear ${ANN}` };
  await flow.put([
    { log_id: 'delivered', ...email, ...text },
    { log_id: 'waiting', ...email, ...text, recipient_address: ANN.toLowerCase(), next_retry_at: inAnHour },
    {
      log_id: 'dead',
      tenant_id: TENANT,
      notification_type: 'WEBHOOK',
      recipient_address: hook,
      message_body: 'x',
      send_status: 'PENDING',
      max_retry_count: 0,
    },
  ]);
  const handed = { channel: 'email', recipient: ANN, subject: `For ${ANN}`, body: `Dear ${ANN}` };
  const later = { ...handed, scheduled_at: inAnHour };
  expect((await call('POST', '/v1/notifications', later)).status).toBe(202);
  // What a thief of the tables computes of each address that he tries.
  const tried = createHash('sha256').update(canonicalize(later) ?? '');
  const guess = tried.digest('base64url');
  expect((await call('PUT', '/v1/newsletters/weekly', { name: 'N', from: 'n@example.com' })).status).toBe(200);
  const members = [{ member_id: 'm-1', email: ANN, name: 'Ann Smith', newsletters: ['weekly'] }];
  expect((await call('POST', '/v1/members', { members })).status).toBe(200);
  await flow.job('--wait');
  await eventually(async () => ((await flow.deadLetters('webhook')) === 1 ? true : undefined), 30_000);
  const before = await flow.opsJson('verify');
  expect(before).toMatchObject({ holds: true, equation: '4 accepted = 1 delivered + 2 waiting + 1 dead' });
  expect((await tables()).filter((one) => NAMED.test(one)).length).toBeGreaterThan(5);

  const forget = ['forget', '--tenant', TENANT, '--recipient', '-', '--json'];
  const answers = [await flow.opsInput(ANN, ...forget), await flow.opsInput(hook, ...forget)];
  expect(answers.map(({ code }) => code)).toEqual([0, 0]);
  expect(JSON.parse(answers[0]?.stdout ?? '')).toMatchObject({
    notifications: { erased: 1, cancelled: 2 },
    members: 1,
  });

  expect(await flow.opsJson('verify', '--letters')).toMatchObject({
    holds: true,
    equation: '4 accepted = 1 delivered + 1 dead + 2 cancelled',
    erased: 4,
    letters: { webhook: { letters: 1 } },
  });
  // Its letter ends without a send.
  const sent = (await flow.received('log_id=dead')).length;
  await flow.redrive('webhook');
  await eventually(async () => ((await flow.row('dead'))['work_queue'] === undefined ? true : undefined), 60_000);
  expect((await flow.received('log_id=dead')).length).toBe(sent);
  expect(await flow.deadLetters('webhook')).toBe(0);

  const shown = await Promise.all(['delivered', 'waiting', 'dead'].map((id) => flow.ops('show', id, '--json')));
  const listed = await Promise.all(
    ['/v1/notifications', '/v1/members/m-1'].map(async (path) => (await call('GET', path)).text()),
  );
  const said = [...answers, ...shown, await flow.ops('list'), await flow.ops('audit')];
  const state = join(flow.directory, '.local', 'ops');
  const files = readdirSync(state).map((name) => readFileSync(join(state, name), 'utf8'));
  const all = [
    ...(await tables()),
    ...(await queues()),
    flow.logs(),
    ...listed,
    ...files,
    ...said.map((one) => one.stdout + one.stderr),
  ];
  expect(all.filter((one) => NAMED.test(one) || one.includes(guess)).map((one) => one.slice(0, 300))).toEqual([]);
});
