import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEST_SOURCE, withIndexedNames } from '../support/emulator/adapt-template.ts';
import { synthesizeForEmulator } from '../support/emulator/assembly.ts';
import { deployOnEmulator, MINUTES, refusedCalls } from '../support/emulator/deploy.ts';
import type { DeployedStack } from '../support/emulator/deployed-stack.ts';
import type { Ministack } from '../support/emulator/ministack.ts';
import { leaveRow } from '../support/emulator/rows.ts';
import { until } from '../support/emulator/until.ts';
import { type Loopback, replying, startLoopback } from '../support/loopback.ts';
import { SES_SAMPLES } from '../support/tools/ses-samples.ts';

/** Senders refuse a notification for good when the receiver answers this. */
const UNAUTHORIZED = replying(401, '{"error":"unauthorized"}');
const ACCEPTED = replying(200, 'ok');

/** Opt-in by `npm run test:emulator`: it needs the tools of `npm run tools:install`. */
describe.each([
  ['', false],
  [' that enforces IAM', true],
])('the stack on another AWS emulator%s', { timeout: 6 * MINUTES }, (_, enforceIam) => {
  let assembly: string;
  let emulator: Ministack;
  let stack: DeployedStack;
  let receiver: Loopback;
  let key: string;

  beforeAll(async () => {
    receiver = await startLoopback();
    ({ emulator, stack, assembly } = await deployOnEmulator({ enforceIam }));
  }, 8 * MINUTES);
  afterAll(async () => {
    await emulator?.stop();
    await receiver?.close();
  });

  const put = (log_id: string, changes: Readonly<Record<string, string>>) => leaveRow(stack, { log_id, ...changes });
  const rowWith = (log_id: string, column: string, value: unknown) =>
    until(`${column} of ${log_id} is ${value}`, async () => {
      const row = await stack.row(log_id);
      return row?.[column] === value && row;
    });
  const ops = async (...args: string[]) => JSON.parse(await stack.npm('ops', [...args, '--json']));
  const authorization = () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

  it('delivers on every channel what the AWS CLI put into the table, when the job runs', async () => {
    receiver.answer = ACCEPTED;
    const { url } = receiver;
    await put('row-email', { notification_type: 'EMAIL', recipient_address: 'someone@your-domain.example' });
    await put('row-webhook', { notification_type: 'WEBHOOK', recipient_address: `${url}/webhook` });
    await put('row-teams', { notification_type: 'TEAMS', recipient_address: `${url}/teams` });
    await put('row-slack', { notification_type: 'SLACK', recipient_address: `${url}/slack` });
    const ids = ['row-email', 'row-webhook', 'row-teams', 'row-slack'];
    for (const log_id of ids) expect(await stack.row(log_id)).not.toHaveProperty('recipient_address');

    const report = JSON.parse(await stack.npm('batch:notification-retry', ['--json', '--wait']));
    expect(report).toMatchObject({ due: 4, dispatched: 4, outcomes: { SUCCESS: 4 } });
    for (const log_id of ids)
      expect(await stack.row(log_id)).toMatchObject({ send_status: 'SUCCESS', send_attempts: 2 });
    expect((await stack.mails()).map((mail) => mail.To)).toEqual([['someone@your-domain.example']]);
    expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/slack', '/teams', '/webhook']);
  });

  it('takes a notification by the API from the holder of a key, and sends it at once', async () => {
    const scopes = ['send', 'read', 'operate'].flatMap((scope) => ['--scope', scope]);
    key = (await stack.npm('ops', ['keys', 'create', '--tenant', 'TENANT001', ...scopes])).trim();
    const post = {
      method: 'POST',
      path: '/v1/notifications',
      headers: { ...authorization(), 'idempotency-key': 'report-42' },
      body: {
        channel: 'email',
        priority: 'urgent',
        recipient: 'api@your-domain.example',
        subject: 'Hi',
        body: 'Hello',
      },
    } as const;
    const accepted = await stack.api(post);
    expect(accepted).toMatchObject({ status: 202 });
    const { log_id } = JSON.parse(accepted.body);
    await rowWith(log_id, 'send_status', 'SUCCESS');
    expect((await stack.mails()).map((mail) => mail.To)).toContainEqual(['api@your-domain.example']);

    const repeated = await stack.api(post);
    expect(repeated.headers).toMatchObject({ 'idempotent-replayed': 'true' });
    expect(JSON.parse(repeated.body)).toMatchObject({ log_id });
    const shown = await stack.api({ method: 'GET', path: `/v1/notifications/${log_id}`, headers: authorization() });
    expect(JSON.parse(shown.body)).toMatchObject({ status: 'done' });
    // A row of another writer: the function reads what it noted, and no other column of its content.
    const foreign = await stack.api({ method: 'GET', path: '/v1/notifications/row-webhook', headers: authorization() });
    expect(JSON.parse(foreign.body)).toMatchObject({ status: 'done' });
    const stranger = { ...authorization(), authorization: 'Bearer nrk_0000000000000000_wrong' };
    expect(await stack.api({ ...post, headers: stranger })).toMatchObject({ status: 401 });
  });

  it('shows operators what happened, and what waits', async () => {
    expect(await ops('show', 'row-webhook')).toMatchObject({ notification: { send_status: 'SUCCESS' } });
    expect(JSON.stringify(await ops('list'))).toContain('row-teams');
    expect(JSON.stringify(await ops('status'))).toContain('webhook');
    expect(JSON.stringify(await ops('keys', 'list'))).toContain('TENANT001');
  });

  it('applies what SES publishes about an e-mail', async () => {
    const [attempt] = (await ops('show', 'row-email')).attempts;
    const { delivery } = SES_SAMPLES;
    const tags = { ...delivery.detail.mail.tags, log_id: ['row-email'], attempt: ['1'] };
    const mail = { ...delivery.detail.mail, messageId: attempt.provider_message_id, tags };
    const detail = withIndexedNames(JSON.parse(JSON.stringify({ ...delivery.detail, mail })));
    const event = { Source: TEST_SOURCE, DetailType: delivery['detail-type'], Detail: JSON.stringify(detail) };
    await stack.aws(['events', 'put-events', '--entries', JSON.stringify([event])]);
    await until(
      'the delivery is on the row',
      async () => (await stack.row('row-email'))?.['delivered_at'] !== undefined,
    );
  });

  // The emulator has no message move tasks: a native redrive is a matter of tools/smoke/smoke-aws.ts.
  it('gives up what a receiver refuses, and delivers it when an operator replays it', async () => {
    receiver.answer = UNAUTHORIZED;
    await put('row-dead', { notification_type: 'WEBHOOK', recipient_address: `${receiver.url}/dead` });
    await stack.npm('batch:notification-retry', ['--json', '--channel=webhook']);
    await rowWith('row-dead', 'failure_reason', 'AUTH_FAILED');
    await until('its dead letter is in the queue', async () =>
      JSON.stringify(await ops('dlq', 'list', '--channel', 'webhook')).includes('row-dead'),
    );

    receiver.answer = ACCEPTED;
    await ops('replay', '--channel', 'webhook', '--error-type', 'AUTH_FAILED', '--yes');
    await rowWith('row-dead', 'send_status', 'SUCCESS');
  });

  it.each([
    ['dispatcher', { dry_run: true }],
    ['monitor', {}],
  ])('runs the scheduled function %s', async (service, event) => {
    expect(await stack.invoke(service, event)).not.toHaveProperty('FunctionError');
  });

  it('keeps what it has through an update of the stack', async () => {
    await stack.deploy(await synthesizeForEmulator({ baseIntervalSeconds: '60' }));
    expect(JSON.parse((await stack.outputs())['RetryPolicy'] ?? '')).toMatchObject({ base_interval_seconds: 60 });
    receiver.answer = replying(503);
    await put('row-later', { notification_type: 'WEBHOOK', recipient_address: `${receiver.url}/later` });
    await stack.npm('batch:notification-retry', ['--json', '--wait']);
    const { next_retry_at, updated_at } = await rowWith('row-later', 'send_status', 'RETRY');
    const delay = Date.parse(String(next_retry_at)) - Date.parse(String(updated_at));
    // The second attempt: 60 s × 2, doubled for an overloaded server, up to twice that.
    expect(delay).toBeLessThan(60_000 * 9);
    expect(await stack.row('row-email')).toMatchObject({ send_status: 'SUCCESS' });
  });

  it('was denied nothing', () => expect(refusedCalls(emulator)).toEqual([]));

  it('leaves nothing behind when it is destroyed', async () => {
    await stack.destroy(assembly);
    expect(JSON.parse(await stack.aws(['dynamodb', 'list-tables']))).toEqual({ TableNames: [] });
    await expect(stack.outputs()).rejects.toThrow(/does not exist/);
  });
});
