import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIntegrationCredentials } from '../../../src/adapters/secrets/integration-credentials.ts';
import { createWebhookSender } from '../../../src/adapters/webhook/sender.ts';
import type { Sender } from '../../../src/core/delivery/ports.ts';
import { delivery, NEVER } from '../../support/delivery.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';
import { createMemorySecrets, type MemorySecrets } from '../../support/memory-secrets.ts';

const OLD = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const NEW = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;

let server: Loopback;
let secrets: MemorySecrets;
let sender: Sender;
beforeEach(async () => {
  server = await startLoopback();
  secrets = createMemorySecrets({ signed: { secrets: [OLD, NEW] } });
  sender = senderWaiting(300);
});
afterEach(() => server.close());

function senderWaiting(timeoutMs: number): Sender {
  const credentials = createIntegrationCredentials(secrets, { prefix: '' });
  return createWebhookSender({ credentials, allowPrivateTargets: true, timeoutMs });
}

const toServer = (content = {}, fields = {}) =>
  delivery('webhook', { recipient: `${server.url}/hook?key=k1`, ...content }, fields);

describe('a webhook', () => {
  it('posts an envelope of the recommended form', async () => {
    expect(await sender.send(toServer({ subject: '期限', format: 'MARKDOWN' }), NEVER)).toEqual({
      ok: true,
      response_code: '204',
    });
    expect(server.received[0]?.path).toBe('/hook?key=k1');
    expect(server.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'notification-retry/1 (Standard-Webhooks)',
    });
    expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
      type: 'notification',
      timestamp: '2026-03-01T09:30:00.500Z',
      data: {
        log_id: 'NL-1',
        tenant_id: 'TENANT001',
        subject: '期限',
        message: 'The certificate of the shop expires.',
        format: 'MARKDOWN',
      },
    });
  });

  it.each(['{"a": 1}', ' [1, 2]\n'])('posts the body %j, which is a JSON document, byte for byte', async (body) => {
    await sender.send(toServer({ body }), NEVER);
    expect(server.received[0]?.body).toBe(body);
  });

  it.each(['[link](https://example.com)', '{name} is here', '42', '"text"'])(
    'puts %j into the envelope',
    async (body) => {
      await sender.send(toServer({ body }), NEVER);
      expect(JSON.parse(server.received[0]?.body ?? '').data.message).toBe(body);
    },
  );

  it('has the headers of its integration, which no answer brings into a record', async () => {
    const token = 'Bearer 7f3c9a51e2b84d06';
    secrets = createMemorySecrets({ guarded: { url: `${server.url}/hook`, headers: { Authorization: token } } });
    const guarded = toServer({}, { integration_config_id: 'guarded' });
    await senderWaiting(300).send(guarded, NEVER);
    expect(server.received[0]?.headers).toMatchObject({ authorization: token, 'content-type': 'application/json' });
    server.answer = replying(401, `no ${token} here`);
    const refused = await senderWaiting(300).send(guarded, NEVER);
    expect(refused).toMatchObject({ ok: false, response_code: '401' });
    expect(JSON.stringify(refused)).not.toContain('7f3c9a51');
  });

  it('tells the receiver the span of the attempt', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await sender.send(toServer(), NEVER);
    await sender.send(toServer({}, { traceparent }), NEVER);
    expect(server.received.map(({ headers }) => headers['traceparent'])).toEqual([undefined, traceparent]);
  });

  it('is signed with every secret, so that either verifies while they rotate', async () => {
    const at = new Date();
    await sender.send(toServer({ body: 'größer' }, { integration_config_id: 'signed', at }), NEVER);
    const { headers = {}, body = '' } = server.received[0] ?? {};
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const secret of [OLD, NEW]) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toHaveProperty(
        'type',
        'notification',
      );
    }
    const other = new Webhook(`whsec_${Buffer.alloc(24, 9).toString('base64')}`);
    expect(() => other.verify(body, headers as Record<string, string>)).toThrow('No matching signature');
  });

  it('keeps webhook-id for all retries, and has the time of the attempt as webhook-timestamp', async () => {
    const first = toServer({}, { at: new Date('2026-03-01T09:30:00.500Z') });
    const second = toServer({}, { attempt: 2, at: new Date('2026-03-01T09:40:00.000Z') });
    await sender.send(first, NEVER);
    await sender.send(second, NEVER);
    expect(server.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-timestamp']])).toEqual([
      ['NL-1', '1772357400'],
      ['NL-1', '1772358000'],
    ]);
  });

  it('is sent unsigned without an integration', async () => {
    await sender.send(toServer(), NEVER);
    expect(server.received[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  it("goes to the integration's URL when it has one", async () => {
    secrets.secrets.set('fixed', JSON.stringify({ url: `${server.url}/fixed` }));
    await sender.send(toServer({ recipient: 'orders' }, { integration_config_id: 'fixed' }), NEVER);
    expect(server.received[0]?.path).toBe('/fixed');
  });

  it.each(['someone@example.com', '#alerts', ''])('to %j is refused as INVALID_RECIPIENT', async (recipient) => {
    expect(await sender.send(toServer({ recipient }), NEVER)).toMatchObject({
      ok: false,
      error_type: 'INVALID_RECIPIENT',
    });
  });

  it('is not sent unsigned when its secret is missing', async () => {
    const answer = await sender.send(toServer({}, { integration_config_id: 'absent' }), NEVER);
    expect(answer).toMatchObject({ error_type: 'AUTH_FAILED', message: expect.stringContaining('no secret absent') });
    expect(server.received).toHaveLength(0);
  });

  it('is signed with the new secret after a refresh', async () => {
    const signed = toServer({}, { integration_config_id: 'signed', at: new Date() });
    await sender.send(signed, NEVER);
    secrets.secrets.set('signed', JSON.stringify({ secrets: [NEW] }));
    await sender.refreshCredential?.(signed);
    await sender.send(signed, NEVER);
    const { headers = {}, body = '' } = server.received[1] ?? {};
    expect(() => new Webhook(OLD).verify(body, headers as Record<string, string>)).toThrow();
    expect(new Webhook(NEW).verify(body, headers as Record<string, string>)).toBeDefined();
  });
});

describe('the answer of a webhook endpoint', () => {
  it('is recorded with Retry-After, without URL or body', async () => {
    server.answer = replying(503, `down: ${toServer().content.body} ${server.url}`, { 'retry-after': '90' });
    expect(await sender.send(toServer(), NEVER)).toEqual({
      ok: false,
      error_type: 'SERVER_OVERLOAD',
      response_code: '503',
      message: 'the endpoint answered 503',
      retry_after_ms: 90_000,
      details: { status: 503, text: 'down: … …' },
    });
  });

  it.each([301, 307])('%i, a redirect, is neither followed nor an acceptance', async (status) => {
    server.answer = replying(status, '', { location: `${server.url}/elsewhere` });
    expect(await sender.send(toServer(), NEVER)).toMatchObject({ ok: false, error_type: 'INVALID_RECIPIENT' });
    expect(server.received).toHaveLength(1);
  });

  it('is awaited no longer than the time limit', async () => {
    server.answer = () => {};
    expect(await sender.send(toServer(), NEVER)).toMatchObject({
      ok: false,
      error_type: 'NETWORK_TIMEOUT',
      message: 'the endpoint did not answer in time',
    });
  });

  it('is not awaited after an abort', async () => {
    const controller = new AbortController();
    server.answer = () => controller.abort();
    const answer = await senderWaiting(60_000).send(toServer(), controller.signal);
    expect(answer).toMatchObject({ error_type: 'NETWORK_TIMEOUT' });
  });

  it('is never requested from a private network', async () => {
    const guarded = createWebhookSender({ credentials: createIntegrationCredentials(secrets, { prefix: '' }) });
    const answer = await guarded.send(toServer({ recipient: 'https://169.254.169.254/latest' }), NEVER);
    expect(answer).toMatchObject({ ok: false, error_type: 'INVALID_RECIPIENT' });
    expect(JSON.stringify(answer)).not.toContain('169.254');
  });
});
