import { SESClient } from '@aws-sdk/client-ses';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromHeader } from '../../../src/adapters/email/address.ts';
import { createEmailSender } from '../../../src/adapters/email/sender.ts';
import type { Sender } from '../../../src/core/delivery/ports.ts';
import type { NotificationContent } from '../../../src/core/model/notification.ts';
import { delivery, NEVER } from '../../support/delivery.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';
import { credentialsOf } from '../../support/memory-secrets.ts';

const ACCEPTED = `<SendEmailResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><SendEmailResult>
<MessageId>0100-abc</MessageId></SendEmailResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></SendEmailResponse>`;

const failed = (code: string, message: string) =>
  `<ErrorResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>r</RequestId></ErrorResponse>`;

let server: Loopback;
let client: SESClient;
let sender: Sender;
beforeEach(async () => {
  server = await startLoopback();
  server.answer = replying(200, ACCEPTED, { 'content-type': 'text/xml' });
  client = new SESClient({
    endpoint: server.url,
    region: 'us-east-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  const credentials = credentialsOf({
    shop: { from: 'shop@example.com', configuration_set: 'shop-events' },
    broken: { from: 'Shop <shop@-example>' },
    named: { from: '注文, 係 <orders@münchen.example>' },
    rich: { allow_html: true },
  });
  sender = createEmailSender({ client, credentials, from: 'noreply@example.com', configurationSet: 'events' });
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

const to = (content: Partial<NotificationContent> = {}, fields = {}) => delivery('email', content, fields);
const sent = () => Object.fromEntries(new URLSearchParams(server.received[0]?.body));

describe('an e-mail', () => {
  it('in plain text is sent as UTF-8 with tags and configuration set', async () => {
    const subject = '【スキル更新】山田太郎さん';
    expect(await sender.send(to({ subject, body: '詳細は…' }), NEVER)).toEqual({
      ok: true,
      response_code: '200',
      provider_message_id: '0100-abc',
    });
    expect(sent()).toEqual({
      Action: 'SendEmail',
      Version: '2010-12-01',
      Source: 'noreply@example.com',
      'Destination.ToAddresses.member.1': 'someone@example.com',
      'Message.Subject.Data': subject,
      'Message.Subject.Charset': 'UTF-8',
      'Message.Body.Text.Data': '詳細は…',
      'Message.Body.Text.Charset': 'UTF-8',
      'Tags.member.1.Name': 'log_id',
      'Tags.member.1.Value': 'NL-1',
      'Tags.member.2.Name': 'attempt',
      'Tags.member.2.Value': '1',
      'Tags.member.3.Name': 'tenant_id',
      'Tags.member.3.Value': 'TENANT001',
      ConfigurationSetName: 'events',
    });
  });

  it('in HTML gets a text alternative', async () => {
    const body = '<h1>Größe</h1><p>See <a href="https://example.com/a">the list</a>.</p>';
    await sender.send(to({ body, format: 'HTML' }), NEVER);
    expect(sent()).toMatchObject({
      'Message.Body.Html.Data': body,
      'Message.Body.Html.Charset': 'UTF-8',
      'Message.Body.Text.Data': 'Größe\n\nSee the list https://example.com/a .',
    });
  });

  it('in Markdown becomes HTML, with its source as the text alternative', async () => {
    const body = '# 期限\n\n**soon** [more](https://example.com)';
    await sender.send(to({ body, format: 'MARKDOWN' }), NEVER);
    expect(sent()).toMatchObject({
      'Message.Body.Html.Data': '<h1>期限</h1>\n<p><strong>soon</strong> <a href="https://example.com">more</a></p>\n',
      'Message.Body.Text.Data': '期限\n\nsoon more https://example.com',
    });
  });

  const htmlOf = async (body: string, fields = {}) => {
    await sender.send(to({ body, format: 'MARKDOWN' }, fields), NEVER);
    return sent()['Message.Body.Html.Data'];
  };

  it.each([
    ['a <b onclick="x()">b</b>', '<p>a &lt;b onclick=&quot;x()&quot;&gt;b&lt;/b&gt;</p>\n'],
    ['<script>a && b</script>\n', '&lt;script&gt;a &amp;&amp; b&lt;/script&gt;\n'],
    ['[a **b**](javascript:alert(1))', '<p>a <strong>b</strong></p>\n'],
    ['[a](JAVA&#x09;SCRIPT:alert(1)) ![i](data:image/svg+xml,x)', '<p>a i</p>\n'],
    ['[a](javascript&colon;alert(1)) [b](javascript&#58;alert(1))', '<p>a b</p>\n'],
    ['[a](b.html?c=d:e) [f](#g:h)', '<p><a href="b.html?c=d:e">a</a> <a href="#g:h">f</a></p>\n'],
    [
      '[a](//example.com) [b](mailto:x@example.com)',
      '<p><a href="//example.com">a</a> <a href="mailto:x@example.com">b</a></p>\n',
    ],
  ])('in Markdown shows HTML and dangerous links of others as text: %s', async (body, html) => {
    expect(await htmlOf(body)).toBe(html);
  });

  it('in Markdown has HTML as HTML if its integration allows it', async () => {
    expect(await htmlOf('a <b>b</b>', { integration_config_id: 'rich' })).toBe('<p>a <b>b</b></p>\n');
  });

  it('that cannot be converted is refused before the call', async () => {
    const body = '<b>'.repeat(20_000);
    expect(await sender.send(to({ body, format: 'HTML' }), NEVER)).toMatchObject({ error_type: 'FORMAT_ERROR' });
    expect(server.received).toHaveLength(0);
  });

  it.each([
    [undefined, '(no subject)'],
    ['  ', '(no subject)'],
    ['two\r\nlines\tand a tab', 'two lines and a tab'],
  ])('with the subject %j has the subject %j', async (subject, expected) => {
    await sender.send(to(subject === undefined ? {} : { subject }), NEVER);
    expect(sent()['Message.Subject.Data']).toBe(expected);
  });

  it.each([
    ['its integration', 'shop', 'shop@example.com', 'shop-events'],
    ['an integration with a name', 'named', fromHeader('注文, 係 <orders@münchen.example>'), 'events'],
    ['the stage when the integration has no secret', 'IC003', 'noreply@example.com', 'events'],
  ])('comes from the sender of %s', async (_, integration_config_id, from, configuration) => {
    await sender.send(to({}, { integration_config_id }), NEVER);
    expect(sent()).toMatchObject({ Source: from, ConfigurationSetName: configuration });
  });

  it('without a sender that is an address is refused before the call, and never for its recipient', async () => {
    const refused = await sender.send(to({}, { integration_config_id: 'broken' }), NEVER);
    expect(refused).toMatchObject({
      error_type: 'AUTH_FAILED',
      asked: false,
      message: 'bad_sender: the sender is not one e-mail address',
    });
    expect(server.received).toHaveLength(0);
  });

  it('has a tag of allowed characters when its log_id has others', async () => {
    await sender.send(to({}, { log_id: 'NL 1' }), NEVER);
    expect(sent()['Tags.member.1.Value']).toBe('b64_TkwgMQ');
  });

  it.each([
    ['yamada@例え.jp', 'yamada@xn--r8jz45g.jp'],
    [' o.brien+x@sub.example.co.uk ', 'o.brien+x@sub.example.co.uk'],
  ])('goes to %j as %s', async (recipient, address) => {
    await sender.send(to({ recipient }), NEVER);
    expect(sent()['Destination.ToAddresses.member.1']).toBe(address);
  });

  it.each([
    '',
    'someone',
    '@example.com',
    'a@b',
    'a b@example.com',
    'a@example.com,b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'Name <a@example.com>',
    'a..b@example.com',
    'a@-example.com',
    'a@exa_mple.com',
    '山田@example.com',
    `${'x'.repeat(65)}@example.com`,
    'https://example.com',
  ])('to %j is refused before the call', async (recipient) => {
    const answer = await sender.send(to({ recipient }), NEVER);
    expect(answer).toMatchObject({ ok: false, error_type: 'INVALID_RECIPIENT' });
    expect(server.received).toHaveLength(0);
  });
});

describe('the answer of SES', () => {
  it.each([
    [400, 'Throttling', 'Maximum sending rate exceeded.', 'RATE_LIMITED'],
    [400, 'Throttling', 'Daily message quota exceeded.', 'RATE_LIMITED'],
    [
      400,
      'MessageRejected',
      'Email address is not verified. The following identities failed: x@other.test',
      'AUTH_FAILED',
    ],
    [400, 'MessageRejected', 'Message contains a virus', 'FORMAT_ERROR'],
    [400, 'ConfigurationSetDoesNotExist', 'Configuration set events does not exist.', 'AUTH_FAILED'],
    [400, 'AccountSendingPausedException', 'paused', 'RATE_LIMITED'],
    [400, 'InvalidParameterValue', "Missing final '@domain'", 'AUTH_FAILED'],
    [400, 'InvalidParameterValue', 'Invalid tag value', 'FORMAT_ERROR'],
    [403, 'AccessDenied', 'User is not authorized to perform ses:SendEmail', 'PERMISSION_DENIED'],
    [403, 'ExpiredToken', 'The security token included in the request is expired', 'AUTH_TEMPORARY'],
    [403, 'SignatureDoesNotMatch', 'no', 'AUTH_FAILED'],
    [503, 'ServiceUnavailable', 'Service unavailable', 'SERVER_OVERLOAD'],
    [500, 'InternalFailure', 'oops', 'SERVER_OVERLOAD'],
  ])('%i %s "%s" is %s, after one call', async (status, code, message, error_type) => {
    server.answer = replying(status, failed(code, message), { 'content-type': 'text/xml' });
    const answer = await sender.send(to(), NEVER);
    expect(answer).toMatchObject({ ok: false, error_type, message: expect.stringContaining(`SES answered ${status}`) });
    expect(JSON.stringify(answer)).not.toContain('x@other.test');
    expect(server.received).toHaveLength(1);
  });

  it('that denies the call names the right, and the resource unless it is an address', async () => {
    const role = 'arn:aws:sts::123456789012:assumed-role/notification-retry-dev-SendEmailServiceRole1A2B3C4D/send';
    const on = (identity: string) => `arn:aws:ses:us-east-1:123456789012:identity/${identity}`;
    const denied = (identity: string) =>
      `User \`${role}' is not authorized to perform \`ses:SendEmail' on resource \`${on(identity)}'`;
    server.answer = replying(403, failed('AccessDenied', denied('your-domain.test')), { 'content-type': 'text/xml' });
    const words = `not authorized to perform \`ses:SendEmail' on resource \`${on('your-domain.test')}'`;
    const answer = await sender.send(to(), NEVER);
    expect(answer).toMatchObject({
      error_type: 'PERMISSION_DENIED',
      message: `SES answered 403 AccessDenied: ${words}`,
      details: { text: words },
    });
    expect(!answer.ok && answer.message.slice(0, 99)).toContain('ses:SendEmail');
    server.answer = replying(403, failed('AccessDenied', denied('no-reply@x.test')), { 'content-type': 'text/xml' });
    expect(await sender.send(to(), NEVER)).toMatchObject({
      message:
        "SES answered 403 AccessDenied: not authorized to perform `ses:SendEmail' on resource `arn:aws:ses:us-east-1:123456789012:…'",
    });
  });

  it('that does not come is NETWORK_TIMEOUT', async () => {
    const controller = new AbortController();
    server.answer = () => controller.abort();
    expect(await sender.send(to(), controller.signal)).toMatchObject({ ok: false, error_type: 'NETWORK_TIMEOUT' });
  });

  it('that is cut off is NETWORK_TIMEOUT', async () => {
    server.answer = (response) => response.destroy();
    expect(await sender.send(to(), NEVER)).toMatchObject({
      error_type: 'NETWORK_TIMEOUT',
      message: 'SES could not be reached (ECONNRESET)',
    });
  });

  it('that is not an answer of SES is retried', async () => {
    server.answer = replying(502, '<html>bad gateway</html>');
    expect(await sender.send(to(), NEVER)).toMatchObject({ ok: false, error_type: 'SERVER_OVERLOAD' });
  });
});
