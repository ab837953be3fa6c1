import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIntegrationCredentials } from '../../../src/adapters/secrets/integration-credentials.ts';
import { createSlackSender } from '../../../src/adapters/slack/sender.ts';
import type { Sender } from '../../../src/core/delivery/ports.ts';
import type { NotificationContent } from '../../../src/core/model/notification.ts';
import { delivery, NEVER } from '../../support/delivery.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';
import { createMemorySecrets, type MemorySecrets } from '../../support/memory-secrets.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

let server: Loopback;
let secrets: MemorySecrets;
let sender: Sender;
beforeEach(async () => {
  server = await startLoopback();
  secrets = createMemorySecrets({
    bot: { token: 'xoxb-1' },
    herald: { token: 'xoxb-1', allow_mentions: true },
    hook: { webhook_url: `${server.url}/services/T0/B0/s3cret` },
  });
  sender = senderWaiting(300);
});
afterEach(() => server.close());

function senderWaiting(timeoutMs: number, slackApiUrl = `${server.url}/api`): Sender {
  const credentials = createIntegrationCredentials(secrets, { prefix: '' });
  return createSlackSender({ credentials, slackApiUrl, allowPrivateTargets: true, timeoutMs });
}

const by = (integration_config_id: string, content: Partial<NotificationContent> = {}) =>
  delivery('slack', { recipient: '#ops', ...content }, { integration_config_id });
const form = () => Object.fromEntries(new URLSearchParams(server.received[0]?.body));

describe('Slack by token', () => {
  it('calls chat.postMessage with the message and gives its ts', async () => {
    server.answer = replying(200, '{"ok":true,"channel":"C1","ts":"1503435956.000247"}', json);
    expect(await sender.send(by('bot', { body: '**期限** & more', format: 'MARKDOWN' }), NEVER)).toEqual({
      ok: true,
      response_code: '200',
      provider_message_id: '1503435956.000247',
    });
    expect(server.received[0]).toMatchObject({
      path: '/api/chat.postMessage',
      headers: { authorization: 'Bearer xoxb-1', 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form()).toEqual({ channel: '#ops', mrkdwn: 'true', text: '\u200b*期限*\u200b &amp; more' });
  });

  it.each([
    ['bot', '@\u200bchannel'],
    ['herald', '<!channel>'],
  ])('mentions somebody only if the integration allows it: %s', async (integration, text) => {
    server.answer = replying(200, '{"ok":true,"ts":"1.2"}', json);
    await sender.send(by(integration, { body: '<!channel>', format: 'MARKDOWN' }), NEVER);
    expect(form()['text']).toBe(text);
  });

  it('calls the API under a base URL that ends with a slash', async () => {
    server.answer = replying(200, '{"ok":true,"ts":"1.2"}', json);
    await senderWaiting(300, `${server.url}/slack/api/`).send(by('bot'), NEVER);
    expect(server.received[0]?.path).toBe('/slack/api/chat.postMessage');
  });

  it.each([
    ['channel_not_found', 'INVALID_RECIPIENT'],
    ['invalid_auth', 'AUTH_FAILED'],
    ['token_expired', 'AUTH_TEMPORARY'],
    ['msg_too_long', 'FORMAT_ERROR'],
    ['restricted_action', 'PERMISSION_DENIED'],
    ['ratelimited', 'RATE_LIMITED'],
    ['internal_error', 'SERVER_OVERLOAD'],
    ['never_heard_of', 'UNKNOWN'],
  ])('takes %s for %s', async (error, error_type) => {
    server.answer = replying(200, JSON.stringify({ ok: false, error }), json);
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({
      ok: false,
      error_type,
      response_code: error,
      message: `Slack answered 200 ${error}`,
    });
    expect(server.received).toHaveLength(1);
  });

  it('names the scope that is missing', async () => {
    server.answer = replying(200, '{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"x"}', json);
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({
      error_type: 'PERMISSION_DENIED',
      message: 'Slack answered 200 missing_scope; the app needs the scope chat:write',
    });
  });

  it.each([
    [{ 'retry-after': '30' }, 30_000],
    [{}, undefined],
  ])('takes a 429 with %j for RATE_LIMITED, after one call', async (headers, retry_after_ms) => {
    server.answer = replying(429, '', headers);
    const answer = await sender.send(by('bot'), NEVER);
    expect(answer).toMatchObject({ ok: false, error_type: 'RATE_LIMITED', response_code: '429' });
    expect(answer).toHaveProperty('ok', false);
    expect('retry_after_ms' in answer ? answer.retry_after_ms : undefined).toBe(retry_after_ms);
    expect(server.received).toHaveLength(1);
  });

  it.each([
    [503, '<html>down</html>', 'SERVER_OVERLOAD'],
    [200, 'not json', 'UNKNOWN'],
  ])('classifies an answer %i %j that is not of the API', async (status, text, error_type) => {
    server.answer = replying(status, text);
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({ ok: false, error_type });
  });

  it('counts an acceptance whose end is missing as an acceptance', async () => {
    server.answer = (response) => {
      response.writeHead(200, json).write('{"ok":true,"ts":"1.2","message":{"text":"half');
    };
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({ ok: true });
  });

  it('reads an acceptance that repeats a long message in escapes', async () => {
    const text = '\\u671f'.repeat(40_000);
    server.answer = replying(200, `{"ok":true,"message":{"text":"${text}","blocks":"${text}"},"ts":"1.2"}`, json);
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({ ok: true, provider_message_id: '1.2' });
  });

  it('is awaited no longer than the time limit', async () => {
    server.answer = () => {};
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({ error_type: 'NETWORK_TIMEOUT' });
  });

  it.each(['bot', 'hook'])('is not awaited after an abort (%s)', async (integration) => {
    const controller = new AbortController();
    server.answer = () => controller.abort();
    const answer = await senderWaiting(60_000).send(by(integration), controller.signal);
    expect(answer).toMatchObject({ error_type: 'NETWORK_TIMEOUT' });
  });

  it('is called once only, also when the connection breaks', async () => {
    server.answer = (response) => response.destroy();
    expect(await sender.send(by('bot'), NEVER)).toMatchObject({
      error_type: 'NETWORK_TIMEOUT',
      message: 'the endpoint could not be reached (ECONNRESET)',
    });
    expect(server.received).toHaveLength(1);
  });

  it('keeps the signals of calls at the same time apart', async () => {
    const controller = new AbortController();
    server.answer = (response, { body }) => {
      if (body.includes('first')) controller.abort();
      else response.writeHead(200, json).end('{"ok":true,"ts":"1.2"}');
    };
    const patient = senderWaiting(60_000);
    const answers = await Promise.all([
      patient.send(by('bot', { body: 'first' }), controller.signal),
      patient.send(by('bot', { body: 'second' }), NEVER),
    ]);
    expect(answers.map(({ ok }) => ok)).toEqual([false, true]);
  });

  it('uses the new token after a refresh', async () => {
    server.answer = replying(200, '{"ok":true,"ts":"1.2"}', json);
    await sender.send(by('bot'), NEVER);
    secrets.secrets.set('bot', '{"token":"xoxb-2"}');
    await sender.refreshCredential?.(by('bot'));
    await sender.send(by('bot'), NEVER);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer xoxb-1', 'Bearer xoxb-2']);
  });

  it('logs nothing, whatever happens', async () => {
    const methods = ['debug', 'info', 'log', 'warn', 'error'] as const;
    const spies = methods.map((method) => vi.spyOn(console, method));
    server.answer = replying(200, '{"ok":false,"error":"x","response_metadata":{"messages":["[ERROR] body"]}}', json);
    await sender.send(by('bot'), NEVER);
    server.answer = (response) => response.destroy();
    await sender.send(by('bot'), NEVER);
    expect(spies.flatMap((spy) => spy.mock.calls)).toEqual([]);
    for (const spy of spies) spy.mockRestore();
  });
});

describe('Slack by incoming webhook', () => {
  it("posts text to the integration's webhook", async () => {
    server.answer = replying(200, 'ok');
    expect(await sender.send(by('hook', { body: 'a & b' }), NEVER)).toEqual({ ok: true, response_code: '200' });
    expect(server.received[0]?.path).toBe('/services/T0/B0/s3cret');
    expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ text: 'a &amp; b', mrkdwn: false });
  });

  it('posts to the recipient when it is a URL and there is no integration', async () => {
    server.answer = replying(200, 'ok');
    await sender.send(delivery('slack', { recipient: `${server.url}/services/direct` }), NEVER);
    expect(server.received[0]?.path).toBe('/services/direct');
  });

  it.each([
    [400, 'invalid_payload', 'FORMAT_ERROR'],
    [403, 'action_prohibited', 'PERMISSION_DENIED'],
    [403, 'invalid_token', 'AUTH_FAILED'],
    [404, 'channel_not_found', 'INVALID_RECIPIENT'],
    [404, 'no_service', 'INVALID_RECIPIENT'],
    [410, 'channel_is_archived', 'INVALID_RECIPIENT'],
    [500, 'rollup_error', 'SERVER_OVERLOAD'],
    [400, 'no_text', 'FORMAT_ERROR'],
  ])('takes %i %s for %s', async (status, text, error_type) => {
    server.answer = replying(status, text);
    expect(await sender.send(by('hook'), NEVER)).toMatchObject({
      ok: false,
      error_type,
      response_code: String(status),
      message: `the Slack webhook answered ${status} ${text}`,
    });
  });

  it.each([
    ['no_service', 'INVALID_RECIPIENT', 'no_service'],
    ['No service\n', 'INVALID_RECIPIENT', 'no_service'],
    ['never_heard_of', 'UNKNOWN', 'never_heard_of'],
    ['{"ok":false,"error":"invalid_auth"}', 'AUTH_FAILED', 'invalid_auth'],
    ['\ufeff{"error":"channel_not_found"}', 'INVALID_RECIPIENT', 'channel_not_found'],
    ['{"ok":false}', 'UNKNOWN', undefined],
    ['{"ok":false,"error":"inval', 'UNKNOWN', undefined],
    ['<!DOCTYPE html><html><title>Sign in</title></html>', 'UNKNOWN', undefined],
  ])('takes a 200 that says %j for %s', async (text, error_type, code) => {
    server.answer = replying(200, text);
    const refused = await sender.send(by('hook'), NEVER);
    expect(refused).toMatchObject({ ok: false, error_type, details: { status: 200, ...(code && { code }) } });
  });

  it.each(['ok', 'OK\n', '', '{"ok":true}', '{"ok":true,"ts":"1.2"'])('accepts a 200 that says %j', async (text) => {
    server.answer = replying(200, text);
    expect(await sender.send(by('hook'), NEVER)).toEqual({ ok: true, response_code: '200' });
  });

  it.each(['Message sent', 'sent', '{"id":1}', '{"o', '1'])(
    'accepts what imitates Slack and says %j, and marks it',
    async (text) => {
      server.answer = replying(200, text);
      expect(await sender.send(by('hook'), NEVER)).toEqual({
        ok: true,
        response_code: '200',
        response_message: 'unclear: the answer was of unknown form; it counts as accepted',
      });
    },
  );
});

describe('a Slack notification', () => {
  it('without a way to post is refused with the setting that is missing', async () => {
    expect(await sender.send(delivery('slack', { recipient: '#ops' }), NEVER)).toMatchObject({
      error_type: 'AUTH_FAILED',
      message: 'no_route: there is neither a token nor a webhook to post by',
    });
  });

  it('that Slack would truncate is refused before the call', async () => {
    expect(await sender.send(by('bot', { body: 'x'.repeat(40_001) }), NEVER)).toMatchObject({
      error_type: 'FORMAT_ERROR',
      message: expect.stringContaining('40001 characters; Slack takes at most 40000'),
    });
    expect(server.received).toHaveLength(0);
  });

  it('in Markdown far too long is refused', async () => {
    const body = 'Longer than Slack takes. '.repeat(10_000);
    expect(await sender.send(by('bot', { body, format: 'MARKDOWN' }), NEVER)).toMatchObject({
      error_type: 'FORMAT_ERROR',
      message: expect.stringMatching(
        /^too_long: the Markdown has \d+ characters; at most 80000 are converted for Slack$/,
      ),
    });
    expect(server.received).toHaveLength(0);
  });

  it('in Markdown that is longer than its text is sent', async () => {
    server.answer = replying(200, '{"ok":true}', json);
    const body = '[short](/but/a/long/and/relative/address)\n\n'.repeat(1_100);
    expect(await senderWaiting(10_000).send(by('bot', { body, format: 'MARKDOWN' }), NEVER)).toMatchObject({
      ok: true,
    });
  });
});
