import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, SecretValue, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { takeIn } from '../../examples/outcomes/rules.ts';
import { type ClientOptions, createNotificationClient } from '../../src/client/index.ts';
import { eventBus, postTo } from '../../src/local/emulator/events/event-bus.ts';
import { planFrom } from '../../src/local/emulator/template/plan.ts';
import { shellCommands } from '../support/docs/shell-lines.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { startLoopback } from '../support/loopback.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const flow = new Flow();
let key: string;

interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of any shape
  readonly body: any;
}

async function call(method: string, path: string, body?: object, idempotencyKey?: string): Promise<Answer> {
  const answer = await fetch(`${flow.endpoints.endpoints.api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const replayed = answer.headers.get('idempotent-replayed') === 'true';
  return { status: answer.status, replayed, body: await answer.json() };
}
const send = (idempotencyKey: string, body: object) => call('POST', '/v1/notifications', body, idempotencyKey);
const hook = (path: string) => `${flow.endpoints.endpoints.simulator}/webhook/${path}`;
const until = (log_id: string, status: string) =>
  eventually(async () => {
    const { body } = await call('GET', `/v1/notifications/${log_id}`);
    return body.status === status ? body : undefined;
  }, 30_000);

const readme = (path: string) => readFileSync(join(PROJECT_ROOT, path), 'utf8');
/** Runs what a document says in a checkout whose local runtime is this one. */
async function asReader(script: string): Promise<string> {
  for (const name of ['package.json', 'node_modules', 'src', 'examples']) {
    if (!existsSync(join(flow.directory, name))) symlinkSync(join(PROJECT_ROOT, name), join(flow.directory, name));
  }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: flow.directory });
  return stdout;
}

beforeAll(async () => {
  await flow.start({ baseIntervalSeconds: 0.5 });
  const scopes = ['send', 'read', 'operate'].flatMap((scope) => ['--scope', scope]);
  ({ key } = await flow.opsJson<{ key: string }>('keys', 'create', '--tenant', 'T1', ...scopes));
}, 180_000);
afterAll(() => flow.end(), 60_000);

/** A producer whose spool lies in a directory of its own. */
const clientOf = (name: string, options: ClientOptions = {}) =>
  createNotificationClient({
    url: flow.endpoints.endpoints.api,
    apiKey: key,
    spoolDirectory: join(flow.directory, name, 'spool'),
    ...options,
  });

describe('retry-and-idempotency-design.md', () => {
  it('§2: a request is done once, and each repetition of its key gets its answer; another body is refused', async () => {
    const body = { channel: 'webhook', recipient: hook('ok/api-1'), body: '本文', priority: 'urgent' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('api-1', body)));
    const taken = answers.filter(({ status }) => status === 202);
    expect(new Set(taken.map(({ body: { log_id } }) => log_id)).size).toBe(1);
    expect(taken.filter(({ replayed }) => !replayed)).toHaveLength(1);
    const log_id = taken[0]?.body.log_id;
    expect(await until(log_id, 'done')).toMatchObject({
      canRetry: false,
      attempts: [{ attempt: 0, status: 'SUCCESS', response_code: '200' }],
    });
    expect((await send('api-1', body)).replayed).toBe(true);
    const other = await send('api-1', { ...body, body: 'other' });
    expect([other.status, other.body.type]).toEqual([409, 'urn:notification-retry:problem:idempotency-key-reused']);
    expect(await flow.received(`log_id=${log_id}`)).toHaveLength(1);
  });

  it('§3: a server’s failure is retried after a second, and a wrong request is not', async () => {
    const front = await startLoopback();
    let failures = 1;
    front.answer = (response, { path, headers, body }) => {
      if (failures-- > 0) return void response.writeHead(503).end();
      const { authorization = '' } = headers;
      const asked = { authorization, 'content-type': 'application/json', 'idempotency-key': 'of-its-items' };
      void fetch(`${flow.endpoints.endpoints.api}${path}`, { method: 'POST', headers: asked, body }).then(
        async (answer) =>
          response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
      );
    };
    const client = clientOf('section-3', { url: front.url });
    const sent = await client.send({ channel: 'webhook', recipient: hook('ok/section-3'), body: 'x' });
    expect(sent).toMatchObject({ state: 'accepted' });
    expect(front.received).toHaveLength(2);
    const wrong = await client.send({ channel: 'webhook', recipient: 'no url', body: 'x' });
    expect([wrong.state, front.received.length]).toEqual(['refused', 3]);
    await front.close();
  });

  it('§5: what failed says so, whether it can be retried and why, and its page retries it', async () => {
    const failed_attempt = { error_type: 'AUTH_FAILED', response_code: '401' };
    const recipient = hook('ok/api-3');
    const { body } = await send('api-3', { channel: 'webhook', recipient, body: 'x', failed_attempt });
    expect(body.status).toBe('failed');
    const failed = await until(body.log_id, 'failed');
    expect(failed).toMatchObject({
      canRetry: true,
      errorMessage: expect.any(String),
      attempts: [{ attempt: 0, error_type: 'AUTH_FAILED' }],
    });
    expect(await eventually(async () => (await flow.deadLetters('webhook')) || undefined)).toBe(1);
    expect(await flow.received(`log_id=${body.log_id}`)).toHaveLength(0);
    expect((await call('POST', `/v1/notifications/${body.log_id}/retry`)).body.status).toBe('retrying');
    await until(body.log_id, 'done');
  });

  it('§6: repeated keys and users’ retries are counted', () => {
    for (const metric of ['IdempotentRepeats', 'ManualRetries']) {
      expect(flow.logs()).toMatch(new RegExp(`"${metric}":[1-9]`));
    }
  });
});

describe('adr-006-spool-retention.md', () => {
  const note = (name: string) => ({ channel: 'webhook', recipient: hook(`ok/${name}`), body: name }) as const;
  const filesIn = (name: string, folder: string) => readdirSync(join(flow.directory, name, folder)).filter(isFile);
  const isFile = (file: string) => !file.startsWith('.');
  // A wrong key: the client makes one call, and keeps what is not taken.
  const locked = { apiKey: 'nrk_wrong_key' };

  it('原則 1–3: what the API does not take is kept with its first attempt and its count, and goes once it is back', async () => {
    for (const body of ['spooled-first', 'spooled-second']) await clientOf('adr-1', locked).send(note(body));
    await clientOf('adr-1', locked).flush();
    const [first = '', second = ''] = filesIn('adr-1', 'spool').sort();
    const header = (file: string) =>
      JSON.parse(readFileSync(join(flow.directory, 'adr-1', 'spool', file), 'utf8').split('\n')[0] ?? '');
    expect(header(first)).toMatchObject({ firstAttempt: expect.stringMatching(/Z$/), retryCount: 1 });
    expect(header(first).firstAttempt <= header(second).firstAttempt).toBe(true);
    expect(await clientOf('adr-1').flush()).toMatchObject({ accepted: 2, left: 0 });
    const delivered = async () => (await flow.received()).filter(({ body }) => body.includes('spooled-'));
    await eventually(async () => ((await delivered()).length === 2 ? true : undefined));
  });

  it.each([
    ['決定事項: after its retries', 'adr-2', { maxSpoolRetries: 2 }],
    ['決定事項: after its hours', 'adr-3', { spoolRetentionHours: 1e-9 }],
  ])('%s a file moves to data/failed and is told; an operator sends it again', async (_, name, limit) => {
    const told: string[] = [];
    const client = clientOf(name, { ...locked, ...limit, onGivenUp: ({ file }) => void told.push(file) });
    await client.send(note(name));
    for (let flushes = 0; flushes < 2; flushes++) await client.flush();
    expect(filesIn(name, 'spool')).toEqual([]);
    expect(filesIn(name, 'failed')).toHaveLength(1);
    expect(told).toHaveLength(1);
    const directory = join(flow.directory, name, 'spool');
    vi.stubEnv('NOTIFICATION_API_KEY', key);
    const resent = await flow.opsJson('spool', 'resend', '--all', '--dir', directory);
    vi.unstubAllEnvs();
    expect(resent).toMatchObject({ accepted: 1, left: 0 });
  });
});

describe('a notification from the API', () => {
  it('is retried without a sweep, and keeps the trace of its producer: each attempt is a span, for its receiver, in its record and in the log', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const body = { channel: 'webhook', recipient: hook('flaky-1/trace-1'), body: 'x', priority: 'urgent' };
    const { body: taken } = await send('trace-1', { ...body, traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    await until(taken.log_id, 'done');
    const received = await flow.received(`log_id=${taken.log_id}`);
    const told = received.map(({ headers }) => headers['traceparent']?.split('-'));
    expect(told.map((parts) => parts?.[1])).toEqual([trace, trace]);
    const { notification, attempts } = await flow.opsJson<{
      notification: object;
      attempts: { traceparent: string }[];
    }>('show', taken.log_id);
    expect(notification).toMatchObject({ traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    expect(attempts.map(({ traceparent }) => traceparent.split('-')).sort()).toEqual([...told].sort());
    const spans = await eventually(async () => {
      const lines = flow.logs().split('\n');
      const found = lines
        .filter((line) => line.includes(trace) && line.includes('"span_id"'))
        .map((line) => JSON.parse(line));
      return found.length >= 2 ? found : undefined;
    });
    const first = spans.find(({ attempt }) => attempt === 0);
    expect(spans.find(({ attempt }) => attempt === 1)).toMatchObject({
      trace_id: trace,
      parent_span_id: '00f067aa0ba902b7',
      first_span_id: first.span_id,
      outcome: 'SUCCESS',
    });
    expect(flow.logs()).not.toMatch(/本文|ok\/api-1|nrk_/);

    const collector = await startLoopback();
    const line = /^cat .*?\/v1\/traces$/ms.exec(readme('examples/traces/README.md'))?.[0] ?? '';
    await asReader(line.replace('http://127.0.0.1:4318', collector.url));
    await collector.close();
    const [{ path, body: exported } = { path: '', body: '{}' }] = collector.received;
    const made = JSON.parse(exported).resourceSpans[0].scopeSpans[0].spans;
    const ids = (list: { span_id?: string; spanId?: string }[]) => list.map((one) => one.spanId ?? one.span_id).sort();
    expect(path).toBe('/v1/traces');
    expect(ids(made.filter(({ traceId }: { traceId: string }) => traceId === trace))).toEqual(ids(spans));
  });

  it('is sent on its fallback channel when its recipient is invalid', async () => {
    const fallback = { channel: 'webhook', recipient: hook('ok/api-4') };
    const failed_attempt = { error_type: 'INVALID_RECIPIENT' };
    const email = { channel: 'email', recipient: 'nobody@example.com', body: 'x', fallback, failed_attempt };
    const { body } = await send('api-4', email);
    const successor = await eventually(async () => (await flow.row(body.log_id))['successor_log_id']);
    await until(String(successor), 'done');
  });

  it('that is a row of BATCH-951 is taken over when its failure is reported', async () => {
    const log_id = 'api-951';
    await flow.put([
      {
        log_id,
        tenant_id: 'T1',
        notification_type: 'WEBHOOK',
        recipient_address: hook('ok/api-951'),
        message_body: 'x',
        message_format: 'PLAIN',
        send_status: 'SENDING',
        send_attempts: 1,
        created_at: new Date().toISOString(),
      },
    ]);
    const reported = await call('POST', `/v1/notifications/${log_id}/failures`, { error_type: 'NETWORK_TIMEOUT' });
    expect([reported.status, reported.body.status]).toEqual([202, 'retrying']);
    const done = await until(log_id, 'done');
    expect(done.attempts.map(({ attempt }: { attempt: number }) => attempt)).toEqual([0, 1]);
  });
});

describe('beside the local runtime, a reader of the documents', () => {
  const blockOf = (path: string, begin: string) =>
    [...readme(path).matchAll(/^```sh\n(.*?)^```/gms)]
      .map(([, block = '']) => block)
      .find((block) => block.includes(begin));

  it.each(['docs/reference/handing-over.md', 'docs/reference/handing-over.ja.md'])(
    'hands a notification over by the lines of %s',
    async (path) => {
      const [taken = '', listed = ''] = (await asReader(blockOf(path, 'curl') ?? '')).split(/(?<=\})(?=\{)/);
      const { log_id } = JSON.parse(taken);
      expect(JSON.parse(listed).notifications).toContainEqual(expect.objectContaining({ log_id }));
    },
  );

  it('sends to the recipients of a file by the lines of examples/batch-951', async () => {
    expect(await asReader(blockOf('examples/batch-951/README.md', 'npx tsx') ?? '')).toContain('accepted');
    expect(existsSync(join(flow.directory, 'data', 'spool'))).toBe(true);
  });

  it('turns an event of a producer into a notification by the rule of examples/outcomes, once', async () => {
    const stack = new Stack(new App(), 'Rules');
    const authorization = SecretValue.unsafePlainText(`Bearer ${key}`);
    // As https in an account; EventBridge refuses http.
    const url = `${flow.endpoints.endpoints.api.replace('http:', 'https:')}/v1/notifications/batch`;
    const receiver = { url, key: authorization, failures: new Queue(stack, 'Failures') };
    const bus = new EventBus(stack, 'Orders', { eventBusName: 'orders' });
    takeIn(stack, 'TakeIn', { bus, pattern: { source: ['orders'] }, api: receiver });
    const { Resources: resources } = Template.fromStack(stack).toJSON();
    const place = { region: 'us-east-1', accountId: '000000000000', sqsEndpoint: 'http://sqs' };
    const { eventRules } = planFrom({ name: 'R', directory: '.', resources, parameters: {}, outputs: {} }, place);
    const publish = eventBus(
      eventRules,
      async (target, body) => {
        if (target.kind !== 'http') throw new Error(`a target of kind ${target.kind}`);
        await postTo({ ...target, url: target.url.replace('https:', 'http:') }, body);
      },
      expect.fail,
      [],
    );
    const detail = { order_id: 'order-9', callback_url: hook('ok/order-9'), message: 'It is ready.' };
    const event = { id: 'e-1', source: 'orders', 'detail-type': 'Order Ready', detail, time: '2026-03-01T10:00:00Z' };
    for (const _ of ['delivered', 'delivered again']) await publish(event as never, 'orders');
    const { body } = await call('GET', '/v1/notifications?notification_id=order-9');
    expect(body.notifications).toHaveLength(1);
    await until(body.notifications[0].log_id, 'done');
    expect(await flow.received(`log_id=${body.notifications[0].log_id}`)).toMatchObject([
      { body: expect.stringContaining(detail.message) },
    ]);
  });

  const jobs = shellCommands().filter(
    ({ words: [npm, , script] }) => npm === 'npm' && script === 'batch:notification-retry',
  );
  const lines = [...new Set(jobs.map(({ words }) => words.slice(4).join(' ')))].filter(
    (line) => !/\[|--help/.test(line),
  );
  it.each(lines)('runs npm run batch:notification-retry -- %s', async (line) => {
    expect(lines.length).toBeGreaterThan(6);
    expect(await flow.job(...line.split(' ').filter((word) => word !== '' && word !== '--local'))).toHaveProperty(
      'due',
    );
  });
});

it('the gateway, the functions and the OpenAPI document answer as in their own tests', async () => {
  const document = await (await fetch(`${flow.endpoints.endpoints.api}/v1/openapi.json`)).json();
  expect(document).toMatchObject({ openapi: '3.1.0' });
  expect((await fetch(`${flow.endpoints.endpoints.api}/v1/notifications`)).status).toBe(401);
  const nothing = await call('GET', '/v1/nothing');
  expect([nothing.status, nothing.body.type]).toEqual([404, 'urn:notification-retry:problem:no-such-path']);
  expect((await send('bad', { channel: 'fax' })).body.type).toBe('urn:notification-retry:problem:invalid-request');
  const batch = { notifications: [{ channel: 'webhook', recipient: hook('ok/b-1'), body: 'x' }, { channel: 'fax' }] };
  const { body } = await call('POST', '/v1/notifications/batch', batch, 'batch-1');
  expect(body.results.map(({ status }: { status: number }) => status)).toEqual([202, 400]);
  await until(body.results[0].log_id, 'done');
});
