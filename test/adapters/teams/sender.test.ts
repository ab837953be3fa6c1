import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTeamsSender } from '../../../src/adapters/teams/sender.ts';
import type { Sender } from '../../../src/core/delivery/ports.ts';
import type { NotificationContent } from '../../../src/core/model/notification.ts';
import { delivery, NEVER } from '../../support/delivery.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';
import { credentialsOf } from '../../support/memory-secrets.ts';

let server: Loopback;
let sender: Sender;
beforeEach(async () => {
  server = await startLoopback();
  server.answer = replying(202);
  const credentials = credentialsOf({ team: { webhook_url: `${server.url}/flow?sig=s3cret` } });
  sender = createTeamsSender({ credentials, allowPrivateTargets: true, timeoutMs: 300 });
});
afterEach(() => server.close());

const toTeam = (content: Partial<NotificationContent> = {}) =>
  delivery('teams', { recipient: 'General', ...content }, { integration_config_id: 'team' });

function cardBody(): unknown {
  const message = JSON.parse(server.received[0]?.body ?? '');
  const [attachment] = message.attachments;
  expect(message.type).toBe('message');
  expect(attachment.contentType).toBe('application/vnd.microsoft.card.adaptive');
  expect(attachment.content).toMatchObject({ type: 'AdaptiveCard', version: '1.4' });
  return attachment.content.body;
}

describe('a Teams message', () => {
  it("is an Adaptive Card, posted to the integration's webhook", async () => {
    expect(await sender.send(toTeam({ subject: '期限', body: 'Line 1\nLine 2' }), NEVER)).toEqual({
      ok: true,
      response_code: '202',
    });
    expect(server.received[0]).toMatchObject({
      path: '/flow?sig=s3cret',
      headers: { 'content-type': 'application/json' },
    });
    expect(cardBody()).toEqual([
      { type: 'TextBlock', text: '期限', weight: 'Bolder', size: 'Medium', wrap: true },
      { type: 'TextBlock', text: 'Line 1\n\nLine 2', wrap: true },
    ]);
  });

  it.each<[NotificationContent['format'], string, string]>([
    ['MARKDOWN', '**bold** [link](https://example.com)\n- item', '**bold** [link](https://example.com)\n\n- item'],
    ['PLAIN', '*not bold* _nor this_ [x]\n- a\n1. b', '\\*not bold\\* \\_nor this\\_ \\[x\\]\n\n\\- a\n\n1\\. b'],
    ['PLAIN', 'see https://example.com/a_b and file_name_1', 'see https://example.com/a_b and file_name_1'],
    ['PLAIN', 'see https://a.example/_b_.', 'see [https://a.example/\\_b\\_](https://a.example/_b_).'],
    ['HTML', '<p>Hello <b>you</b></p><p>there</p>', 'Hello you\n\nthere'],
  ])('in %s shows %j', async (format, body, text) => {
    await sender.send(toTeam({ format, body }), NEVER);
    expect(cardBody()).toEqual([{ type: 'TextBlock', text, wrap: true }]);
  });

  it('without integration is posted to its recipient when that is a URL', async () => {
    expect(await sender.send(delivery('teams', { recipient: `${server.url}/direct` }), NEVER)).toMatchObject({
      ok: true,
    });
    expect(server.received[0]?.path).toBe('/direct');
  });

  it('without integration or URL is refused with the setting that is missing', async () => {
    expect(await sender.send(delivery('teams', { recipient: 'General' }), NEVER)).toMatchObject({
      error_type: 'AUTH_FAILED',
      message: 'no_workflow: there is no webhook of a workflow to post to',
    });
  });

  it('above 28 KB is refused before the call, with its size', async () => {
    expect(await sender.send(toTeam({ body: '期'.repeat(10_000) }), NEVER)).toMatchObject({
      error_type: 'FORMAT_ERROR',
      message: expect.stringMatching(
        /^too_large: the card has 30\d\d\d bytes as a text in JSON; Teams takes at most 28672$/,
      ),
    });
    expect(server.received).toHaveLength(0);
  });
});

describe('the answer of Teams', () => {
  it.each([
    [429, 'RATE_LIMITED', 'Webhook message delivery failed with error: '],
    [429, 'RATE_LIMITED', ''],
    [413, 'FORMAT_ERROR', ''],
    [408, 'NETWORK_TIMEOUT', ''],
    [503, 'SERVER_OVERLOAD', 'Webhook message delivery failed with error: '],
  ])('is read from the text of a 200 that reports %i: %s, %j', async (status, error_type, before) => {
    server.answer = replying(200, `${before}Microsoft Teams endpoint returned HTTP error ${status} with ContextId x`);
    expect(await sender.send(toTeam(), NEVER)).toMatchObject({ ok: false, error_type });
  });

  it.each([
    ['<html><title>Sign in to your account</title></html>', 'UNKNOWN'],
    ['{"error":{"code":"WorkflowNotFound"}}', 'INVALID_RECIPIENT'],
  ])('is a failure when a 200 says %j', async (text, error_type) => {
    server.answer = replying(200, text);
    expect(await sender.send(toTeam(), NEVER)).toMatchObject({ ok: false, error_type, response_code: '200' });
  });

  it('is an acceptance when it is 200 with "1", as of old connectors', async () => {
    server.answer = replying(200, '1');
    expect(await sender.send(toTeam(), NEVER)).toMatchObject({ ok: true, response_code: '200' });
  });

  it.each(['', '\ufeff'])("is classified by Power Automate's code before the status, behind %j", async (mark) => {
    server.answer = replying(400, `${mark}{"error":{"code":"WorkflowTriggerIsNotEnabled","message":"off"}}`);
    expect(await sender.send(toTeam(), NEVER)).toMatchObject({
      error_type: 'AUTH_FAILED',
      message: 'the Teams webhook answered 400 WorkflowTriggerIsNotEnabled',
      response_code: '400',
    });
  });

  it('does not put the credential into the record, even if Teams echoes it', async () => {
    server.answer = replying(401, `bad request: POST ${server.url}/flow?sig=s3cret and /flow?sig=s3cret`);
    expect(JSON.stringify(await sender.send(toTeam(), NEVER))).not.toContain('s3cret');
  });

  it('is awaited no longer than the time limit', async () => {
    server.answer = () => {};
    expect(await sender.send(toTeam(), NEVER)).toMatchObject({ error_type: 'NETWORK_TIMEOUT' });
  });
});
