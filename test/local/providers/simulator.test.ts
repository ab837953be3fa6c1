import { join } from 'node:path';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../src/http/loopback-server.ts';
import { type Received, ReceivedLog } from '../../../src/local/providers/received-log.ts';
import { REVOKED_TOKEN } from '../../../src/local/providers/receivers.ts';
import { startSimulatedSes } from '../../../src/local/providers/ses/simulated-ses.ts';
import { startSimulator } from '../../../src/local/providers/start-providers.ts';
import { type StandIn, startSes } from '../../../src/local/stand-ins/stand-ins.ts';
import type { JsonObject } from '../../../src/local/support/json.ts';
import { eventually, scratch } from '../../support/local/tiny-app.ts';

describe('the simulated providers', () => {
  const directory = scratch();
  let now = Date.parse('2026-01-01T00:00:00Z');
  const received = new ReceivedLog(undefined, () => now);
  let simulator: HttpServer;
  let ses: StandIn;
  let email: HttpServer;
  const events: JsonObject[] = [];

  beforeAll(async () => {
    simulator = await startSimulator(received);
    ses = await startSes(join(directory.path, 'ses.log'));
    email = await startSimulatedSes(ses.endpoint, received, async (event) => void events.push(event));
  });
  beforeEach(() => received.clear());
  afterAll(async () => {
    await Promise.all([simulator.close(), email.close(), ses.child.stop()]);
    directory.remove();
  });

  const post = (path: string, { id = 'n1', body = '{}' } = {}) =>
    fetch(simulator.url + path, { method: 'POST', headers: { 'webhook-id': id }, body });
  const json = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T;
  const list = (query = '') => json<Received[]>(`${simulator.url}/_received${query}`);

  it.each([
    ['/webhook/ok', 200],
    ['/webhook/anything/else', 200],
    ['/webhook/status/503', 503],
    ['/webhook/status-301', 301],
    ['/webhook/gone', 410],
    ['/webhook/missing/a', 404],
    ['/webhook/unauthorized', 401],
    ['/webhook/forbidden', 403],
    ['/webhook/malformed', 400],
    ['/teams/ok', 202],
    ['/teams/status/500', 500],
    ['/slack/services/T0/B0/ok', 200],
    ['/slack/services/T0/B0/gone', 410],
    ['/nothing/here', 404],
  ])('%s answers %i', async (path, status) => {
    expect((await fetch(simulator.url + path, { method: 'POST', body: '{}', redirect: 'manual' })).status).toBe(status);
  });

  it('simulates an outage of the given path, and of no other, until it ends', async () => {
    const tell = (method: string) => fetch(`${simulator.url}/_down/webhook/shop`, { method });
    const statuses = async () =>
      Promise.all(['/webhook/shop/1', '/webhook/other'].map(async (path) => (await post(path)).status));
    await tell('PUT');
    expect(await statuses()).toEqual([503, 200]);
    await tell('DELETE');
    expect(await statuses()).toEqual([200, 200]);
  });

  it('fails the first attempts of each notification, then accepts it', async () => {
    const statuses = async (id: string) => {
      const answers: number[] = [];
      for (let attempt = 0; attempt < 3; attempt++) answers.push((await post('/webhook/flaky/2/x', { id })).status);
      return answers;
    };
    expect(await statuses('n1')).toEqual([503, 503, 200]);
    expect(await statuses('n2')).toEqual([503, 503, 200]);
  });

  it('limits the rate for the given time, and says when it ends', async () => {
    const first = await post('/webhook/rate-limit/3');
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '3']);
    now += 1_500;
    const second = await post('/webhook/rate-limit/3');
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '2']);
    now += 1_500;
    expect((await post('/webhook/rate-limit/3')).status).toBe(200);
  });

  it('closes the connection, or answers late, when asked to', async () => {
    await expect(post('/webhook/drop')).rejects.toThrow();
    await expect(post('/webhook/drop/1/once')).rejects.toThrow();
    expect((await post('/webhook/drop/1/once')).status).toBe(200);
    const started = performance.now();
    expect((await post('/webhook/slow/200')).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(195);
  });

  it('lists the received requests by channel and notification, and counts duplicates', async () => {
    await post('/webhook/ok', { id: 'n1', body: '{"a":1}' });
    await post('/webhook/ok', { id: 'n1', body: '{"a":1}' });
    await post('/webhook/gone', { id: 'n2' });
    await post('/teams/ok', { body: '{"type":"message"}' });
    expect(await list('?log_id=n1')).toMatchObject([
      { channel: 'webhook', attempt: 1, accepted_count: 1, accepted: true, answer: '200', body: '{"a":1}' },
      { attempt: 2, accepted_count: 2 },
    ]);
    expect(await list('?channel=teams')).toMatchObject([{ target: '/teams/ok', at: new Date(now).toISOString() }]);
    expect((await list('?accepted=false')).map((entry) => entry.log_id)).toEqual(['n2']);
    await fetch(`${simulator.url}/_received`, { method: 'DELETE' });
    expect(await list()).toEqual([]);
  });

  it('keeps the received requests over a restart, but no credential', async () => {
    const file = join(directory.path, 'received.jsonl');
    const first = new ReceivedLog(file);
    const request = { channel: 'webhook', accepted: true, answer: '200', target: '/webhook/ok', body: '{}' } as const;
    first.add('key', { ...request, headers: { authorization: 'Bearer secret' } });
    const second = new ReceivedLog(file);
    expect(second.history('key').attempts).toBe(1);
    expect(JSON.stringify(second.list())).not.toContain('secret');
  });

  /** chat.postMessage as Slack's clients call it: a status other than 200, or `ok` false, is an error. */
  const postToSlack = async (channel: string, token = 'xoxb-local', text = 'Hello') => {
    const answer = await fetch(`${simulator.url}/slack/api/chat.postMessage`, {
      method: 'POST',
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      body: new URLSearchParams({ channel, text }),
    });
    const data = answer.status === 200 ? Object(await answer.json()) : { ok: false };
    if (data.ok) return data;
    const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN);
    throw Object.assign(new Error('Slack refused the message.'), { data, statusCode: answer.status, retryAfter });
  };

  it.each([
    ['#missing', 'channel_not_found'],
    ['#gone', 'is_archived'],
    ['#forbidden', 'missing_scope'],
    ['#malformed', 'invalid_blocks'],
    ['#error-msg_too_long', 'msg_too_long'],
  ])("simulates Slack's refusal for the channel %s: %s", async (channel, error) => {
    await expect(postToSlack(channel)).rejects.toMatchObject({ data: { ok: false, error } });
  });

  it('simulates Slack when it accepts, limits, fails and refuses a token', async () => {
    expect(await postToSlack('#alerts')).toMatchObject({ ok: true, ts: expect.stringMatching(/^\d+\.\d{6}$/) });
    await expect(postToSlack('#rate-limit-7')).rejects.toMatchObject({ statusCode: 429, retryAfter: 7 });
    await expect(postToSlack('#status-503')).rejects.toMatchObject({ statusCode: 503 });
    await expect(postToSlack('#flaky-1')).rejects.toMatchObject({ statusCode: 503 });
    expect(await postToSlack('#flaky-1')).toMatchObject({ ok: true });
    await expect(postToSlack('#alerts', REVOKED_TOKEN)).rejects.toMatchObject({ data: { error: 'token_revoked' } });
    await expect(postToSlack('#a', '', 'x')).rejects.toMatchObject({ data: { error: 'not_authed' } });
  });

  const send = (to: string, id = 'n1', configurationSet?: string) => {
    const client = new SESClient({
      endpoint: email.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 1,
    });
    return client.send(
      new SendEmailCommand({
        Source: 'noreply@example.com',
        Destination: { ToAddresses: [to] },
        Message: { Subject: { Data: '件名' }, Body: { Text: { Data: '本文' } } },
        Tags: [{ Name: 'log_id', Value: id }],
        ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
      }),
    );
  };

  it('passes e-mails on to the SES stand-in, whose store can be read through it', async () => {
    expect(await send('someone@example.com', 'mail-1')).toMatchObject({ MessageId: expect.any(String) });
    const store = await json<{ emails: object[] }>(`${email.url}/store`);
    expect(store.emails).toMatchObject([{ subject: '件名', destination: { to: ['someone@example.com'] } }]);
    expect(await list('?log_id=mail-1')).toMatchObject([{ channel: 'email', accepted: true }]);
  });

  it.each([
    ['missing@example.com', 'MessageRejected'],
    ['throttle@example.com', 'Throttling'],
    ['unauthorized+1@example.com', 'AccessDenied'],
    ['error-AccountSendingPausedException@example.com', 'AccountSendingPausedException'],
  ])("simulates SES's refusal for %s: %s", async (to, name) => await expect(send(to)).rejects.toMatchObject({ name }));

  it.each([
    ['ok@example.com', ['Delivery']],
    ['bounce@example.com', ['Bounce']],
    ['complaint+1@example.com', ['Delivery', 'Complaint']],
  ])('accepts an e-mail to %s and publishes its events: %j', async (to, expected) => {
    events.length = 0;
    await send(to, 'mail-1', 'events');
    const told = await eventually(() => (events.length === expected.length ? events : undefined));
    expect(told.map(({ detail }) => detail)).toMatchObject(
      expected.map((eventType) => ({
        eventType,
        mail: { destination: [to], tags: { log_id: ['mail-1'], 'ses:configuration-set': ['events'] } },
      })),
    );
  });

  it('breaks the connection before SES’s answer, although the e-mail is accepted', async () => {
    await expect(send('unanswered@example.com', 'mail-2')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await list('?log_id=mail-2')).toMatchObject([{ accepted: true, answer: '200, unheard' }]);
  });

  it('publishes no event of an e-mail without a configuration set, as SES does', async () => {
    events.length = 0;
    await send('ok@example.com');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events).toEqual([]);
  });

  it('accepts an e-mail after the failures that its address asks for', async () => {
    await expect(send('flaky-1@example.com')).rejects.toMatchObject({ $metadata: { httpStatusCode: 503 } });
    expect(await send('flaky-1@example.com')).toMatchObject({ MessageId: expect.any(String) });
  });
});
