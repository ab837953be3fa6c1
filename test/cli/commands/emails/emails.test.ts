import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emailAccess } from '../../../../src/application/emails/email-access.ts';
import { parsePost } from '../../../../src/cli/commands/emails/post.ts';
import { requestStart } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';
import { startLoopback } from '../../../support/loopback.ts';
import { batchRow, lostAt, recipient } from '../../../support/newsletter/job-rows.ts';

let ops: Operations;
let access: ReturnType<typeof emailAccess>;
let serial = 0;
beforeAll(async () => {
  ops = await startOperations();
  const { deployment, dynamodb, sqs } = ops;
  access = emailAccess({ deployment, dynamodb, sqs, clock: () => new Date(), newId: () => `claim-${++serial}` });
  const at = new Date().toISOString();
  const common = { tenant_id: 'T1', name: 'Weekly', from: 'n@example.com', created_at: at, updated_at: at };
  await access.newsletters.put({ ...common, newsletter_id: 'weekly' });
}, 60_000);
afterAll(() => ops?.stop());

const file = (name: string, text: string) => {
  const path = join(ops.directory, name);
  writeFileSync(path, text);
  return path;
};
const sending = (post: string) => ['emails', 'send', post, '--tenant', 'T1', '--newsletter', 'weekly'];
const send = async (...more: string[]) => {
  const post = file('post.md', `# Hello\n\nDear {name, "reader"} ${++serial}`);
  return ops.json<{ email_id: string; status: string }>(...sending(post), ...more);
};
const change = async (email_id: string, set: Partial<Email>) => {
  const email = await access.emails.read(email_id);
  if (email === undefined) throw new Error('no email');
  await access.emails.change(email, { set });
};

describe('a post', () => {
  it.each([
    ['---\nsubject: "Our week"\n---\n# Other\nText', 'markdown', 'Our week', '# Other\nText'],
    ['\uFEFF---\r\nsubject: Week\r\n---\r\nText', 'html', 'Week', 'Text'],
    ['Intro\n\n# The week #\n\nText', 'markdown', 'The week', 'Intro\n\n# The week #\n\nText'],
  ] as const)('%j has a subject', (text, format, subject, body) => {
    expect(parsePost(text, format, 'p')).toEqual({ subject, body, format });
  });

  it.each([
    ['# Heading', 'html'],
    ['Text', 'markdown'],
    ['---\nsubject: x\n---\n', 'markdown'],
  ] as const)('%j is refused', (text, format) => {
    expect(() => parsePost(text, format, 'p')).toThrow(/has no (subject|text)/);
  });

  it.each([
    ['```sh\n# a comment\n```\n\n# The week', 'The week'],
    ['<!-- # hidden -->\n\n# The week', 'The week'],
    ['# Tom &amp; *Jerry* <b>`x`</b> [here](https://a.example) ![cat](c.png)', 'Tom & Jerry x here cat'],
    ['The week\n===\n\nText', 'The week'],
    ['# 1 \\* 2 < 3', '1 * 2 < 3'],
  ])('%j has the first heading as its subject, as Markdown reads it and in plain words: %s', (text, subject) => {
    expect(parsePost(text, 'markdown', 'p')).toMatchObject({ subject });
  });

  it('takes segment, time and window of its front matter', () => {
    const matter =
      'subject: Week #3\nsegment: "status:paid"\nscheduled_at: 2026-12-01T10:00:00+01:00\ndelivery_window_minutes: 60';
    expect(parsePost(`---\n# a comment\n${matter}\n---\nText`, 'text', 'p')).toEqual({
      subject: 'Week #3',
      body: 'Text',
      format: 'text',
      segment: 'status:paid',
      scheduled_at: '2026-12-01T09:00:00.000Z',
      delivery_window_minutes: 60,
    });
  });

  it.each(['---  \nsubject: S\n--- \nHi', '\n\n---\nsubject: S\n---\nHi', '---\nsubject: S\n...\nHi'])(
    '%j has front matter, as YAML allows it',
    (text) => expect(parsePost(text, 'markdown', 'p')).toEqual({ subject: 'S', body: 'Hi', format: 'markdown' }),
  );

  it.each([
    ['+++\nsubject = "S"\n+++\n# T\n\nHi'],
    ['---\nsegment: status:paid\n\n# T\n\nHi'],
    ['{ "segment": "status:paid" }\n\n# T\n\nHi'],
  ])('%j is refused, as everybody would get what should decide who does', (text) => {
    expect(() => parsePost(text, 'markdown', 'p')).toThrow('between two lines ---');
  });

  it.each([
    ['subject: x\nteaser: y', 'teaser, which nothing reads; keys are subject, preheader, segment'],
    ['subject: x\nSegment: status:paid', 'Segment, which nothing reads'],
    ['subject: x\nconstructor: y', 'constructor, which nothing reads'],
    ['subject: x\nscheduled_at: tomorrow', 'scheduled_at of its front matter: It must be a time'],
    ['subject: x\nsegment: status:paid\nsegment: status:free', 'segment twice'],
    ['subject: |\n  x', 'form "key: value"'],
    ['subject: x\ntags:\n  - a', 'tags, which nothing reads'],
  ])('with the front matter %j is refused', (matter, message) => {
    expect(() => parsePost(`---\n${matter}\n---\nText`, 'text', 'p')).toThrow(message);
  });
});

describe('ops emails', () => {
  it.each([
    ['cp1252.md', Buffer.from('# Gr\xfc\xdfe\n\nText', 'latin1'), 'cp1252.md is not UTF-8 but probably Windows-1252'],
    ['sjis.txt', Buffer.from([0x91, 0xba, 0x93, 0x63]), 'sjis.txt is not UTF-8 but probably Shift_JIS'],
    ['post.html', Buffer.from('PK\x03\x04'), 'post.html is an Excel workbook'],
  ])('refuse %s, whose signs would arrive as others, and name its encoding', async (name, bytes, message) => {
    writeFileSync(join(ops.directory, name), bytes);
    for (const args of [sending(join(ops.directory, name)), [...sending(join(ops.directory, name)), '--dry-run']]) {
      const { code, err } = await ops.run(args);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    }
  });

  it('take a post in UTF-16 by its byte order mark, and its segment from its front matter, but not against an option', async () => {
    const path = join(ops.directory, 'utf16.md');
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    writeFileSync(path, Buffer.from('\ufeff---\nsubject: Grüße\nsegment: status:paid\n---\nText', 'utf16le'));
    const { email_id } = await ops.json<{ email_id: string }>(...sending(path), '--scheduled-at', inAnHour);
    expect(await access.emails.read(email_id)).toMatchObject({ segment: 'status:paid' });
    expect(await access.emails.content(email_id)).toMatchObject({ subject: 'Grüße' });
    const { code, err } = await ops.run([...sending(path), '--segment', 'status:free']);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('--segment and segment of the front matter'),
    });
  });

  it('decide with the limits of the stage', () => {
    expect(access.limits).toMatchObject({ concurrency: 7, uncertain_ms: 20 * 60_000 });
  });

  it('send a post, and the job is asked for', async () => {
    const { email_id, status } = await send('--segment', 'status:paid', '--window', '30');
    expect(status).toBe('pending');
    expect(await access.emails.read(email_id)).toMatchObject({ segment: 'status:paid', delivery_window_minutes: 30 });
    expect(await access.emails.content(email_id)).toMatchObject({ subject: 'Hello', format: 'markdown' });
    const { Messages = [] } = await ops.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: ops.deployment.newsletter_queues.prepare, MaxNumberOfMessages: 10 }),
    );
    expect(Messages.map(({ Body = '' }) => JSON.parse(Body))).toContainEqual({ version: 1, kind: 'start', email_id });
  });

  it('send the same post once, however often the command is repeated, and once more with a key', async () => {
    const post = file('once.md', '# Once\n\nText');
    const published = async (...more: string[]) => ops.json<{ email_id: string }>(...sending(post), ...more);
    const first = await published();
    expect(await published()).toMatchObject({ email_id: first.email_id, repeat: true });
    const { out, err } = await ops.run([...sending(post), '--local']);
    expect(out).toMatch(/was published before .* nothing was published now.*--idempotency-key/s);
    expect(err).toContain(`The email is ${first.email_id}.`);
    const again = await published('--idempotency-key', 'again');
    expect(again.email_id).not.toBe(first.email_id);
    expect(await published('--idempotency-key', 'again')).toMatchObject({ email_id: again.email_id });
    const other = await published('--segment', 'status:paid');
    expect([first.email_id, again.email_id]).not.toContain(other.email_id);
  });

  it('send a post once, also when the publication failed after it was stored', async () => {
    const post = file('failed.md', '# Failed\n\nText');
    const { prepare } = ops.deployment.newsletter_queues;
    Object.assign(ops.deployment.newsletter_queues, { prepare: `${prepare}-nowhere` });
    const failed = await ops.run([...sending(post), '--local']);
    Object.assign(ops.deployment.newsletter_queues, { prepare });
    expect(failed.code).not.toBe(0);
    const [, email_id = ''] = /The email is (\S+)\./.exec(failed.err) ?? [];
    expect(await ops.json<object>(...sending(post))).toMatchObject({ email_id, status: 'pending' });
    expect(await access.emails.read(email_id)).toBeDefined();
  });

  it('say with --dry-run who would get a post, and store nothing', async () => {
    const members = file('dry.csv', 'email,name\nann@example.com,Ann\nben@example.com,\n');
    await ops.json('members', 'import', members, '--tenant', 'T1', '--newsletter', 'weekly');
    const post = file('dry.md', '# Dry\n\nDear {name}');
    const { code, out } = await ops.run([...sending(post), '--dry-run', '--local']);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^2 members would get it\.\nMissing: \{name\} for 1\.\nWarning: The newsletter weekly has no sender_name, .*\nIt would not be sent\. The merge field/,
    );
    const fallback = file('dry-too.md', '# Dry\n\nDear {name, "reader"}');
    const found = await ops.json<object>(...sending(fallback), '--dry-run');
    expect(found).toMatchObject({ dry_run: true, recipients: 2, excluded: 0, missing_fields: {} });
    const long = await ops.run([
      ...sending(file('long.md', `# Dry\n\n${'word '.repeat(21_000)}`)),
      '--dry-run',
      '--local',
    ]);
    expect(long).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nWarning: The HTML is about 10\d KB as it is/),
    });
    const { emails } = await access.emails.list('T1');
    const contents = await Promise.all(emails.map(({ email_id }) => access.emails.content(email_id)));
    expect(contents.map((content) => content?.subject)).not.toContain('Dry');
  });

  it('replace a post that has not started, and keep what no option names', async () => {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const stored = await send('--segment', 'status:paid', '--scheduled-at', later);
    const post = file('other.md', '# Other\n\nText');
    expect(await ops.json<object>('emails', 'replace', stored.email_id, post)).toMatchObject({
      status: 'pending',
      scheduled_at: later,
    });
    expect(await access.emails.read(stored.email_id)).toMatchObject({ segment: 'status:paid', scheduled_at: later });
    expect(await access.emails.content(stored.email_id)).toMatchObject({ subject: 'Other' });
    await change(stored.email_id, { status: 'submitting' });
    const { code, err } = await ops.run(['emails', 'replace', stored.email_id, post, '--local']);
    expect(code).toBe(1);
    expect(err).toContain('has started');
  });

  it('test a post before it is published', async () => {
    const post = file('test.md', '# Test\n\nDear {name}');
    const { code, err } = await ops.run(['emails', 'test', post, '--to', 'me@example.com', '--local']);
    expect(code).toBe(2);
    expect(err).toContain('--tenant and --newsletter');
    const ses = await startLoopback();
    ses.answer = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          VerifiedForSendingStatus: true,
          BulkEmailEntryResults: [{ Status: 'SUCCESS', MessageId: 'm' }, { Status: 'MESSAGE_REJECTED' }],
        }),
      );
    const clients = { ...ops.deployment.clients, ses: { ...ops.deployment.clients.sqs, endpoint: ses.url } };
    const to = ['--to', 'me@example.com', '--to', 'you@example.com'];
    const line = ['emails', 'test', post, '--tenant', 'T1', '--newsletter', 'weekly', ...to, '--json', '--local'];
    const tested = await ops.run(line, { findDeployment: async () => ({ ...ops.deployment, clients }) });
    await ses.close();
    expect(JSON.parse(tested.out)).toMatchObject({ results: [{ accepted: true }, { accepted: false }] });
    expect(tested.code).toBe(1);
  });

  it.each([
    [
      'an unknown newsletter',
      ['--newsletter', 'nobody'],
      'T1 has no newsletter nobody. PUT /v1/newsletters/nobody makes it',
    ],
    ['a bad segment', ['--newsletter', 'weekly', '--segment', 'colour:red'], 'colour'],
    ['a time that has passed', ['--newsletter', 'weekly', '--scheduled-at', '2020-01-01T00:00:00Z'], 'has passed'],
  ])('refuse %s with a sentence', async (_, more, sentence) => {
    const post = file('post.md', '# Hello\n\nText');
    const { code, err } = await ops.run(['emails', 'send', post, '--tenant', 'T1', '--local', ...more]);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
  });

  it.each([
    [['--window', '20000'], '--window must be a whole number of minutes, 1 to 10080.'],
    [['--segment', ''], '--segment must not be empty.'],
    [['--newsletter', 'no body'], '--newsletter must have 1 to 50 of A-Z, a-z, 0-9, _ and -.'],
  ])('refuse %s by the name of the option', async (more, sentence) => {
    const post = file('post.md', '# Hello\n\nText');
    const args = [...sending(post), '--local', ...more];
    const { code, err } = await ops.run(args);
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });

  it('refuse a post by the name of its file', async () => {
    const post = file('long.md', `# ${'x'.repeat(600)}\n\nText`);
    const { code, err } = await ops.run([...sending(post), '--local']);
    expect(code).toBe(2);
    expect(err).toContain(`the subject of ${post} must have at most 500 characters.`);
  });

  it('say how to find an email that is not there', async () => {
    for (const command of ['retry', 'pause', 'resume', 'cancel', 'status', 'recipients', 'resolve']) {
      const flags = command === 'resolve' ? ['--leave', '--local'] : ['--local'];
      const { code, err } = await ops.run(['emails', command, 'nobody', ...flags]);
      expect({ command, code }).toEqual({ command, code: 1 });
      expect(err, command).toContain('There is no email nobody: see `npm run ops -- emails list --tenant ID --local`.');
    }
  });

  it('refuse a merge field that does not exist, by its name, and store nothing', async () => {
    const before = await ops.json<object[]>('emails', 'list', '--tenant', 'T1');
    const post = file('wrong.md', '# Hello {nmae}\n\nDear {nmae}, {foo}');
    const { code, err } = await ops.run([...sending(post), '--local']);
    expect(code).toBe(1);
    expect(err).toContain('{nmae} and {foo} are no merge fields. The fields are {name},');
    expect(await ops.json<object[]>('emails', 'list', '--tenant', 'T1')).toEqual(before);
  });

  it('refuse a file that is not there, without the words of the system', async () => {
    const { code, err } = await ops.run(sending('nope.md'));
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/There is no file nope\.md\.\n$/) });
  });

  it('refuse a sender that SES has not verified, on the local runtime, too', async () => {
    const ses = await startLoopback();
    ses.answer = (response) => {
      response.writeHead(404, { 'x-amzn-errortype': 'NotFoundException' }).end('{"message":"no identity"}');
    };
    Object.assign(ops.deployment.clients, { ses: { ...ops.deployment.clients.sqs, endpoint: ses.url } });
    try {
      const post = file('post.md', '# Hello\n\nText');
      const sent = await ops.run([...sending(post), '--local']);
      expect(sent).toMatchObject({ code: 1, err: expect.stringContaining('SES has not verified example.com') });
    } finally {
      Object.assign(ops.deployment.clients, { ses: undefined });
      await ses.close();
    }
  });

  it('list and show them, with a bar for people', async () => {
    const { email_id } = await send();
    const batch_id = '00000';
    await access.batches.put(
      batchRow({
        email_id,
        batch_id,
        status: 'submitting',
        counts: { pending: 1, submitted: 1, excluded: 0, failed: 1, uncertain: 1 },
        failed_by_reason: { message_rejected: 1 },
      }),
    );
    const place = { email_id, batch_id, chunk: 0 };
    const chunk = { ...place, tenant_id: 'T1', recipients: [0, 1, 2, 3].map((n) => recipient(n)) };
    const base = { version: 1, tries: {}, unanswered: {}, message_ids: {}, processed: {} };
    await access.chunks.put([
      { chunk, state: { ...place, ...base, states: '.sfu', reasons: { 2: 'message_rejected' } } },
    ]);
    const at = new Date().toISOString();
    await change(email_id, {
      status: 'submitting',
      slots: { 0: { batch_id, since: at } },
      prepared: { recipients: 4, excluded: 0, excluded_by_reason: {}, batches: 1, at },
    });
    const shown = await ops.run(['emails', 'status', email_id, '--local']);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('75 %');
    expect(shown.out).toContain('4: 1 submitted, 1 pending, 0 excluded, 1 failed, 1 uncertain');
    expect(shown.out).toContain('1 message_rejected');
    expect(shown.out).toContain(`npm run ops -- emails resolve ${email_id} --resend --local, or with --leave`);
    expect((await ops.json<{ email_id: string }[]>('emails', 'list', '--tenant', 'T1'))[0]?.email_id).toBe(email_id);

    const failed = await ops.json<object[]>('emails', 'recipients', email_id, '--state', 'failed');
    expect(failed).toMatchObject([{ member_id: 'm-2', reason: 'message_rejected' }]);
    expect(JSON.stringify(failed)).not.toContain('@');
    const seen = await ops.run(['emails', 'recipients', email_id, '--addresses', '--local']);
    expect(seen.out).toContain('m2@example.com');

    expect((await ops.run(['emails', 'resolve', email_id, '--local'])).code).toBe(2);
    const claim = { claim_id: 'sender', claim_until: new Date(Date.now() + 60_000).toISOString() };
    const batch = await access.batches.read(email_id, batch_id);
    expect(batch && (await access.batches.change(batch, { set: claim }))).toBeDefined();
    const busy = await ops.run(['emails', 'resolve', email_id, '--resend', '--local']);
    expect(busy.out).toContain('Batches that are being sent just now: 1. Resolve the email again');
    const [state] = await access.chunks.states(email_id, batch_id);
    expect(state && (await access.chunks.change(state, lostAt(state, at)))).toBeDefined();
    const until = new Date(Date.parse(at) + 20 * 60_000).toISOString();
    const waits = await ops.run(['emails', 'resolve', email_id, '--resend', '--local']);
    expect(waits.out).toContain(`of whom SES's events may still tell: 1. Resolve the email again at ${until}.`);
    const waiting = { email_id, status: 'submitting', resolved: 0, busy: 0, waiting: 1, waiting_until: until };
    expect(await ops.json('emails', 'resolve', email_id, '--resend')).toEqual({ ...waiting, continued: false });
    const left = await ops.json('emails', 'resolve', email_id, '--leave');
    expect(left).toEqual({ email_id, status: 'submitting', resolved: 1, busy: 0, waiting: 0, continued: false });
    await change(email_id, { status: 'failed' });
    const unsent = await ops.run(['emails', 'resolve', email_id, '--resend', '--local']);
    expect(unsent.out).toContain(`Send what is missing: emails retry ${email_id}`);
  });

  it('say that a paused e-mail is, also after a retry, and what goes on with it', async () => {
    const { email_id } = await send();
    const paused = await ops.run(['emails', 'pause', email_id, '--local']);
    expect(paused).toMatchObject({ code: 0, out: `${email_id} is pending, and paused.\n` });
    await change(email_id, { status: 'failed' });
    const retried = await ops.run(['emails', 'retry', email_id, '--local']);
    expect(retried).toMatchObject({ code: 0, out: `${email_id} is pending, and paused.\n` });
    expect(retried.err).toContain(`npm run ops -- emails resume ${email_id} --local`);
    const resumed = await ops.run(['emails', 'resume', email_id, '--local']);
    expect(resumed).toMatchObject({ out: `${email_id} is pending.\n`, err: '' });
  });

  it('watch one until it is over', async () => {
    const { email_id } = await send();
    const watching = ops.run(['emails', 'status', email_id, '--watch', '--local']);
    await change(email_id, { status: 'submitted' });
    expect((await watching).code).toBe(0);
    const cancelled = await send('--scheduled-at', new Date(Date.now() + 3_600_000).toISOString());
    expect(await ops.json('emails', 'cancel', cancelled.email_id)).toMatchObject({ status: 'cancelled' });
    expect((await ops.run(['emails', 'status', cancelled.email_id, '--watch', '--local'])).code).toBe(1);
    const refused = await ops.run(['emails', 'pause', cancelled.email_id, '--local']);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Publish it anew') });
    expect((await ops.run(['emails', 'status', 'nobody', '--local'])).err).toContain('There is no email nobody');
  });
});

it('the job by hand starts what is pending or failed, and skips the rest with a reason', async () => {
  const { email_id } = await send();
  expect(await requestStart(email_id, access)).toEqual({ result: 'started' });
  await change(email_id, { paused: true });
  expect(await requestStart(email_id, access)).toMatchObject({
    result: 'skipped',
    reason: expect.stringContaining('paused'),
  });
  await change(email_id, { paused: false, status: 'failed', error: 'x' });
  expect(await requestStart(email_id, access)).toEqual({ result: 'started' });
  for (const status of ['submitting', 'submitted'] as const) {
    await change(email_id, { status });
    expect(await requestStart(email_id, access)).toEqual({
      result: 'skipped',
      reason: `The email is ${status} already.`,
    });
  }
  await expect(requestStart('nobody', access)).rejects.toThrow('There is no email nobody');
});

describe('a mail that is looked at', () => {
  const post = () => file('preview.md', '# Hello {name, "reader"}\n\nText of **it**.');
  const preview = () => ['emails', 'preview', post(), '--tenant', 'T1', '--newsletter', 'weekly'];

  it('is shown with its headers, its text and what it lacks; nothing is kept', async () => {
    const before = (await access.emails.list('T1')).emails.length;
    const { out } = await ops.run(preview());
    expect(out).toMatch(/^From: n@example\.com\nTo: sample@example\.com\nSubject: Hello Sample Reader\n/);
    expect(out).toMatch(
      /\n\nHello Sample Reader\n\nText of it\.\n[\s\S]*\nNote: The newsletter weekly has no sender_name/,
    );
    expect((await access.emails.list('T1')).emails).toHaveLength(before);
  });

  it('has the values of the member that is named, which the audit log keeps without them', async () => {
    const members = file('preview.csv', 'member_id,email,name\nm-17,mia@example.com,Mia\n');
    await ops.json('members', 'import', members, '--tenant', 'T1', '--newsletter', 'weekly');
    const mail = await ops.json<{ subject: string; html: string }>(...preview(), '--member', 'm-17');
    expect([mail.subject, mail.html]).toEqual(['Hello Mia', expect.stringContaining('<h1')]);
    const { entries } = await ops.json<{ entries: object[] }>('audit', '--target', 'm-17');
    expect(entries).toMatchObject([{ what: 'email.preview', result: { shown: 1 } }]);
    expect(JSON.stringify(entries)).not.toContain('mia@');
    const unknown = await ops.run([...preview(), '--member', 'nobody']);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('no member nobody')]);
  });

  it('is a page for its owner alone with --open: HTML in frames that run nothing, beside the text', async () => {
    const { file: path } = await ops.json<{ file: string }>(...preview(), '--open');
    const [page, { mode }] = [readFileSync(path, 'utf8'), statSync(path)];
    rmSync(path);
    expect(mode & 0o777).toBe(0o600);
    expect(
      page.match(/<iframe[^>]* sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="&lt;base/g),
    ).toHaveLength(2);
    expect(page).toMatch(
      /default-src 'none'[\s\S]*<title>Hello Sample Reader<\/title>[\s\S]*<pre tabindex="0">Hello Sample/,
    );
  });

  it('is refused where a file names no newsletter, and where there is no such email', async () => {
    expect(await ops.run(['emails', 'preview', post()])).toMatchObject({ code: 2 });
    expect(await ops.run(['emails', 'preview', 'unknown'])).toMatchObject({ code: 1 });
  });
});
