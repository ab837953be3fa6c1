import { SESv2Client, SendBulkEmailCommand } from '@aws-sdk/client-sesv2';
import { afterEach, describe, expect, it } from 'vitest';
import { withDirectCalls } from '../../../src/adapters/direct-calls/direct-calls.ts';
import { createBulkProvider } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import { piecesOf } from '../../../src/core/newsletter/model/merge-fields.ts';
import type { BulkCall } from '../../../src/core/newsletter/model/provider.ts';
import { type Handle, type HttpServer, sendJson, serve } from '../../../src/http/loopback-server.ts';
import { ReceivedLog } from '../../../src/local/providers/received-log.ts';
import { startSimulatedSes } from '../../../src/local/providers/ses/simulated-ses.ts';

let server: HttpServer | undefined;
const requests: { path: string; body: Record<string, unknown> }[] = [];
afterEach(async () => {
  requests.length = 0;
  await server?.close();
  server = undefined;
});

const entry = (n: number, to = `reader${n}@example.com`) => ({
  to,
  values: { name: `<R&D ${n}>`, unsubscribe_url: `https://api.example.com/u/${n}` },
  unsubscribe_url: `https://api.example.com/u/${n}`,
  tags: { email_id: 'e1', chunk: '00000-3', n: String(n) },
});

const CALL: BulkCall = {
  from: 'Weekly <weekly@example.com>',
  reply_to: 'us@example.com',
  rendering: {
    subject: ['To ', { field: 'name' }],
    html: ['<p>', { field: 'name' }, ' {{ stays }}</p><a href="', { field: 'unsubscribe_url' }, '">x</a>'],
    text: [{ field: 'name' }, ', {{ stays }}'],
  },
  entries: [entry(0), entry(1, 'Leser@MÜNCHEN.example')],
  timeout_ms: 10_000,
};

/** Sends the call to an endpoint that answers as `handle` says. */
async function send(handle: Handle, call: BulkCall = CALL) {
  server = await serve(
    (request, response, body) => {
      requests.push({ path: request.url ?? '', body: JSON.parse(body.toString()) });
      return handle(request, response, body);
    },
    0,
    'the endpoint',
  );
  return sendTo(server.url, call);
}

function sendTo(endpoint: string, call: BulkCall = CALL) {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new SESv2Client({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  return createBulkProvider({ client, configurationSet: 'newsletters' }).send(call);
}

function refuse(status: number, type: string, message: string): Handle {
  return (_, response) => {
    response.setHeader('x-amzn-errortype', type);
    sendJson(response, status, { message });
  };
}

/** A provider whose call goes directly, because an earlier one of the SDK has shown the way. */
async function directly(handle: Handle, call: BulkCall = CALL) {
  let first = true;
  const answers = await serve(
    (request, response, body) => {
      if (!first) {
        requests.push({ path: request.url ?? '', body: JSON.parse(body.toString()) });
        direct.push(request.headers['amz-sdk-invocation-id'] === undefined);
        return handle(request, response, body);
      }
      first = false;
      return sendJson(response, 200, { BulkEmailEntryResults: [] });
    },
    0,
    'the endpoint',
  );
  server = answers;
  const direct: boolean[] = [];
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new SESv2Client({ endpoint: answers.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  withDirectCalls(client, { SendBulkEmail: SendBulkEmailCommand }, { once: true });
  const provider = createBulkProvider({ client, configurationSet: 'newsletters' });
  await provider.send(CALL);
  return { answer: await provider.send(call), direct };
}

describe('a bulk call without the SDK', () => {
  const BODY = {
    BulkEmailEntryResults: [
      { Status: 'SUCCESS', MessageId: 'id-0' },
      { Status: 'FAILED', Error: 'no' },
    ],
  };
  const ok: Handle = (_, response) => sendJson(response, 200, BODY);
  /** More than Node writes as text. */
  const LONG = {
    ...CALL,
    rendering: { ...CALL.rendering, html: ['<p>日本語 ', { field: 'name' }, ` ${'x'.repeat(20_000)}</p>`] },
  };

  it.each([CALL, LONG])('sends what the SDK sends, and reads what it reads', async (call) => {
    const bySdk = await send(ok, call);
    await server?.close();
    const { answer, direct } = await directly(ok, call);
    expect([answer, direct]).toEqual([bySdk, [true]]);
    expect(requests[1]).toEqual(requests[0]);
  });

  const refusal = (expected: object) => ({ kind: 'refused', refusal: expected });
  const PAUSED = refusal({ class: 'account', reason: 'sending_paused', message: 'as asked', status_code: 400 });
  const EXPIRED = refusal({ class: 'transient', reason: 'request_expired', message: 'x', status_code: 400 });
  const OVERLOADED = refusal({ class: 'overloaded', reason: 'service_unavailable', message: 'x', status_code: 503 });

  it.each<[string, Handle, object, boolean[]]>([
    // Nothing of it was accepted, and the SDK may heal it: it makes it again with the right time or credentials.
    ['is signed too early', refuse(400, 'RequestExpired', 'x'), EXPIRED, [true, false]],
    ['has old credentials', refuse(403, 'ExpiredTokenException', 'x'), { kind: 'refused' }, [true, false]],
    ['may not be made', refuse(403, 'AccessDeniedException', 'x'), { kind: 'refused' }, [true]],
    ['is refused with 400', refuse(400, 'SendingPausedException', 'as asked'), PAUSED, [true]],
    // Pacing has to see it, and a call at once would only be refused as well.
    [
      'is above the rate, which SES says with 400',
      refuse(400, 'ThrottlingException', 'Maximum sending rate exceeded.'),
      refusal({
        class: 'throttled',
        reason: 'throttling',
        message: 'Maximum sending rate exceeded.',
        status_code: 400,
      }),
      [true],
    ],
    [
      'is above the rate',
      refuse(429, 'TooManyRequestsException:http://internal.amazon.com/#x', 'x'),
      refusal({ class: 'throttled', reason: 'too_many_requests', message: 'x', status_code: 429 }),
      [true],
    ],
    ['meets an overloaded SES', refuse(503, 'ServiceUnavailable', 'x'), OVERLOADED, [true]],
    [
      'meets an overloaded SES, which says so in its body',
      (_, response) => sendJson(response, 503, { __type: 'com.amazon#ServiceUnavailable:', Message: 'x' }),
      OVERLOADED,
      [true],
    ],
    [
      'meets an overloaded SES without a reason',
      (_, response) => void response.writeHead(503).end('<html>'),
      refusal({
        class: 'overloaded',
        reason: 'error',
        message: 'The service did not say that it refused the call.',
        status_code: 503,
      }),
      [true],
    ],
    [
      'fails at SES',
      refuse(500, 'InternalFailure', 'x'),
      { kind: 'unknown', error: 'SES answered 500 InternalFailure' },
      [true],
    ],
    [
      'fails at SES for its daily quota',
      refuse(500, 'InternalFailure', 'Daily message quota exceeded.'),
      refusal({
        class: 'quota',
        reason: 'internal_failure',
        message: 'Daily message quota exceeded.',
        status_code: 500,
      }),
      [true],
    ],
    ['breaks', (request) => void request.socket.destroy(), { kind: 'unknown' }, [true]],
    ['is answered with what is no JSON', (_, response) => void response.end('<html>'), { kind: 'unknown' }, [true]],
    [
      'has an answer that is cut off',
      (_, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"Bulk', () => response.destroy());
      },
      { kind: 'unknown' },
      [true],
    ],
    ['is answered with another success', (_, response) => sendJson(response, 202, BODY), { kind: 'unknown' }, [true]],
    ['hangs', () => {}, { kind: 'unknown' }, [true]],
    ['hangs in its answer', (_, response) => void response.writeHead(200).write('{"Bulk'), { kind: 'unknown' }, [true]],
  ])('that %s is made again only where another signature may help', async (_, handle, expected, made) => {
    const { answer, direct } = await directly(handle, { ...CALL, timeout_ms: 300 });
    expect(answer).toMatchObject(expected);
    expect(direct).toEqual(made);
  });
});

describe('a bulk call', () => {
  it('gives each entry its values, its unsubscribe headers and its tags', async () => {
    const answer = await send((_, response) =>
      sendJson(response, 200, {
        BulkEmailEntryResults: [
          { Status: 'SUCCESS', MessageId: 'id-0' },
          { Status: 'MESSAGE_REJECTED', Error: 'Address blacklisted: Leser@MÜNCHEN.example' },
        ],
      }),
    );
    expect(answer).toEqual({
      kind: 'answered',
      entries: [
        { accepted: true, message_id: 'id-0' },
        {
          accepted: false,
          refusal: { class: 'recipient', reason: 'message_rejected', message: expect.not.stringMatching(/Leser/) },
        },
      ],
    });
    const [{ path, body } = { path: '', body: {} }] = requests;
    expect(path).toBe('/v2/email/outbound-bulk-emails');
    expect(body).toMatchObject({
      FromEmailAddress: CALL.from,
      ReplyToAddresses: ['us@example.com'],
      ConfigurationSetName: 'newsletters',
    });
    const list = body['BulkEmailEntries'] as Record<string, never>[];
    expect(list).toHaveLength(2);
    expect(list[0]).toMatchObject({
      Destination: { ToAddresses: ['reader0@example.com'] },
      ReplacementHeaders: [
        { Name: 'List-Unsubscribe', Value: '<https://api.example.com/u/0>' },
        { Name: 'List-Unsubscribe-Post', Value: 'List-Unsubscribe=One-Click' },
      ],
      ReplacementTags: [
        { Name: 'email_id', Value: 'e1' },
        { Name: 'chunk', Value: '00000-3' },
        { Name: 'n', Value: '0' },
      ],
    });
    expect(list[1]).toMatchObject({ Destination: { ToAddresses: ['Leser@xn--mnchen-3ya.example'] } });
    const data = JSON.stringify(list[0]);
    expect(data).toContain('&lt;R&amp;D 0&gt;');
    expect(data).toContain('<R&D 0>');
  });

  it.each([
    [429, 'TooManyRequestsException', 'throttled'],
    [400, 'SendingPausedException', 'account'],
    [400, 'BadRequestException', 'content'],
    [503, 'ServiceUnavailable', 'overloaded'],
  ])('is refused after %i %s as %s', async (status, type, expected) => {
    const answer = await send(refuse(status, type, 'as asked'));
    expect(answer).toMatchObject({ kind: 'refused', refusal: { class: expected, status_code: status } });
    expect(requests).toHaveLength(1);
  });

  it('is refused when the request never left', async () => {
    expect(await sendTo('http://127.0.0.1:1')).toMatchObject({ kind: 'refused', refusal: { class: 'transient' } });
  });

  it.each<[string, Handle, number?]>([
    ['there is no answer in time', () => {}, 300],
    ['the connection breaks', (request) => void request.socket.destroy()],
    ['SES answers 500', refuse(500, 'InternalFailure', 'as asked')],
  ])('has an unknown outcome, and is not repeated, when %s', async (_, handle, timeout_ms = CALL.timeout_ms) => {
    expect(await send(handle, { ...CALL, timeout_ms })).toMatchObject({ kind: 'unknown' });
    expect(requests).toHaveLength(1);
  });
});

describe('a bulk call on the local SES, which like SES takes default data only for entries without data', () => {
  const startLocalSes = async () =>
    (server = await startSimulatedSes('http://127.0.0.1:9', new ReceivedLog(), async () => {}));
  const receipts = async ({ url }: HttpServer) =>
    (await (await fetch(`${url}/_bulk`)).json()) as { to: string; subject: string; events: string[] }[];

  it.each(['{name}, {{ stays }}', '}}', 'C:\\', '{{#if name}}'])('delivers %s', async (subject) => {
    const ses = await startLocalSes();
    const answer = await sendTo(ses.url, {
      ...CALL,
      rendering: { ...CALL.rendering, subject: piecesOf(subject, 'subject') },
    });
    expect(answer).toMatchObject({ kind: 'answered', entries: [{ accepted: true }, { accepted: true }] });
    const found = await receipts(ses);
    expect(found.map(({ events }) => events)).toEqual([
      ['send', 'delivery'],
      ['send', 'delivery'],
    ]);
    expect(found[1]?.subject).toBe(subject.replace('{name}', '<R&D 1>'));
  });

  it('is from a sender with a name that is not ASCII', async () => {
    const ses = await startLocalSes();
    expect(await sendTo(ses.url, { ...CALL, from: '週刊, ニュース <weekly@münchen.example>' })).toMatchObject({
      kind: 'answered',
    });
  });

  it.each(['週刊 <weekly@example.com>', 'Doe, Jane <weekly@example.com>', 'weekly@münchen.example'])(
    'is refused with %s as it is written, as SES refuses it',
    async (FromEmailAddress) => {
      const ses = await startLocalSes();
      const answer = await fetch(`${ses.url}/v2/email/outbound-bulk-emails`, {
        method: 'POST',
        body: JSON.stringify({
          FromEmailAddress,
          DefaultContent: { Template: { TemplateContent: { Text: 'Hi' } } },
          BulkEmailEntries: [{ Destination: { ToAddresses: ['ann@example.com'] } }],
        }),
      });
      expect(answer.status).toBe(400);
    },
  );

  it.each([
    ['a variable that the entry lacks, although the default data has it', '{"text_email":"x"}', ['rendering-failure']],
    ['no data of the entry', '{}', ['send', 'delivery']],
  ])('accepts a mail with %s, and tells what became of it by an event', async (_, own, events) => {
    const ses = await startLocalSes();
    const answer = await fetch(`${ses.url}/v2/email/outbound-bulk-emails`, {
      method: 'POST',
      body: JSON.stringify({
        FromEmailAddress: CALL.from,
        ConfigurationSetName: 'newsletters',
        DefaultContent: { Template: { TemplateContent: { Text: 'Hi {{name}}' }, TemplateData: '{"name":"you"}' } },
        BulkEmailEntries: [
          {
            Destination: { ToAddresses: ['ann@example.com'] },
            ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData: own } },
          },
        ],
      }),
    });
    expect(await answer.json()).toMatchObject({ BulkEmailEntryResults: [{ Status: 'SUCCESS' }] });
    expect(await receipts(ses)).toMatchObject([{ to: 'ann@example.com', events }]);
  });
});
