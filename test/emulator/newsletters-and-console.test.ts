import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployOnEmulator, MINUTES, refusedCalls } from '../support/emulator/deploy.ts';
import type { ApiRequest, DeployedStack } from '../support/emulator/deployed-stack.ts';
import type { Ministack } from '../support/emulator/ministack.ts';
import { type EmailAnswer, NewsletterCalls } from '../support/emulator/newsletter-calls.ts';
import { leaveRow } from '../support/emulator/rows.ts';
import { CLIENT_ID, startTokenIssuer, type TokenIssuer } from '../support/emulator/token-issuer.ts';
import { until } from '../support/emulator/until.ts';
import { type Loopback, replying, startLoopback } from '../support/loopback.ts';

/** The synthesis takes https only; what is deployed gets the address of the test's issuer. */
const CONSOLE = JSON.stringify({ issuer: 'https://issuer.your-domain.example', clientId: CLIENT_ID });

/** Opt-in by `npm run test:emulator`. One stack for both, because a deployment takes minutes. */
describe.each([
  ['', false],
  [' that enforces IAM', true],
])('newsletters and the console on another AWS emulator%s', { timeout: 6 * MINUTES }, (_, enforceIam) => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let issuer: TokenIssuer;
  let receiver: Loopback;
  let newsletters: NewsletterCalls;

  beforeAll(async () => {
    [issuer, receiver] = await Promise.all([startTokenIssuer(), startLoopback()]);
    const settings = { enforceIam, context: { console: CONSOLE }, issuer: issuer.url };
    ({ emulator, stack } = await deployOnEmulator(settings));
    await stack.aws(['sesv2', 'create-email-identity', '--email-identity', 'example.com']);
    newsletters = new NewsletterCalls(stack);
    await newsletters.start();
  }, 15 * MINUTES);
  afterAll(async () => {
    await emulator?.stop();
    await Promise.all([issuer?.close(), receiver?.close()]);
  }, MINUTES);

  const ops = async (...args: string[]) => JSON.parse(await stack.npm('ops', [...args, '--json']));
  const publish = (post: object) =>
    newsletters.call<{ email_id: string }>('POST', '/v1/emails', { newsletter_id: 'weekly', format: 'text', ...post });
  const linkIn = (text = '') => /https?:\/\/\S+\/u\/\S+/.exec(text)?.[0] ?? '';
  const links = new Map<string, string>();
  let email_id = '';

  it('takes a newsletter and its members', async () => {
    await newsletters.call('PUT', '/v1/newsletters/weekly', { name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    expect(await newsletters.call('GET', '/v1/newsletters/weekly')).toMatchObject({ name: 'Weekly' });
    const member = (id: string, name?: string) => ({
      member_id: id,
      email: `${id}@your-domain.example`,
      newsletters: ['weekly'],
      ...(name && { name }),
    });
    const members = [member('ann', 'Ann'), member('bob'), member('gone')];
    await newsletters.call('POST', '/v1/members', { members });
    expect(await newsletters.call('GET', '/v1/members/ann')).toMatchObject({ name: 'Ann' });
    const file = join(mkdtempSync(join(tmpdir(), 'members-')), 'members.csv');
    writeFileSync(file, 'member_id,email,status\neve,eve@your-domain.example,paid\n');
    const into = ['--tenant', 'TENANT001', '--newsletter', 'weekly'];
    expect(await ops('members', 'import', file, ...into)).toMatchObject({ created: 1, bad: 0 });
  });

  it('sends an email to each of them, rendered, with a link of their own', async () => {
    ({ email_id } = await publish({ subject: 'First', body: 'Hello {name, "reader"}: {unsubscribe_url}' }));
    expect(await newsletters.ended(email_id)).toMatchObject({
      status: 'submitted',
      counts: { recipients: 4, submitted: 4, failed: 0, uncertain: 0 },
    });
    const mails = await newsletters.mails('First');
    for (const [to, { BodyText, Source }] of mails) {
      expect(Source).toBe('Weekly <weekly@example.com>');
      expect(BodyText).toContain(to.startsWith('ann') ? 'Hello Ann: ' : 'Hello reader: ');
      links.set(to.replace(/@.*/, ''), linkIn(BodyText));
    }
    expect([...links.keys()].sort()).toEqual(['ann', 'bob', 'eve', 'gone']);
    expect(new Set(links.values()).size).toBe(4);
  });

  it('counts what SES publishes, and suppresses an address that bounced', async () => {
    await newsletters.publish('delivery', links.get('ann') ?? '');
    await newsletters.publish('open', links.get('ann') ?? '');
    await newsletters.publish('bounceWithStatus', links.get('gone') ?? '');
    const counted = { delivered: 1, opened: 1, bounced: 1 };
    await until(`${JSON.stringify(counted)} are counted`, async () => {
      const { counts } = await newsletters.call<EmailAnswer>('GET', `/v1/emails/${email_id}`);
      return Object.entries(counted).every(([kind, count]) => counts[kind] === count);
    });
    expect(await ops('members', 'show', 'gone', '--tenant', 'TENANT001')).toMatchObject({
      suppressed: { reason: 'bounced' },
    });
  });

  it('unsubscribes by the link of a mail, and by nothing else', async () => {
    const { pathname } = new URL(links.get('bob') ?? '');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const click: ApiRequest = { method: 'POST', path: pathname, headers: form, body: 'List-Unsubscribe=One-Click' };
    const page = await stack.api({ method: 'GET', path: pathname });
    expect(page).toMatchObject({ status: 200, body: expect.stringContaining('Unsubscribe from Weekly?') });
    const altered = pathname.replace(/[^.]+$/, (signature) => [...signature].reverse().join(''));
    expect(await stack.api({ ...click, path: altered })).toMatchObject({ status: 404 });
    expect(await stack.api(click)).toMatchObject({ status: 200 });
    expect(await newsletters.call('GET', `/v1/emails/${email_id}`)).toMatchObject({ counts: { unsubscribed: 1 } });
  });

  const schedules = async () => {
    const group = ['--group-name', 'notification-retry-dev'];
    return JSON.parse(await stack.aws(['scheduler', 'list-schedules', ...group])).Schedules;
  };

  it('starts a scheduled email at its time, without those who must not get it', async () => {
    const scheduled_at = new Date(Date.now() + MINUTES / 2).toISOString();
    const scheduled = await publish({ subject: 'Second', body: 'Hello', scheduled_at });
    expect(await schedules()).toMatchObject([{ Name: scheduled.email_id }]);
    const end = await newsletters.ended(scheduled.email_id);
    expect(end).toMatchObject({ status: 'submitted', counts: { submitted: 2, excluded: 1 } });
    const addresses = ['ann', 'eve'].map((name) => `${name}@your-domain.example`);
    expect([...(await newsletters.mails('Second')).keys()].sort()).toEqual(addresses);
    await until('the schedule has removed itself', async () => (await schedules()).length === 0);
  });

  it('removes the schedule of an email that is cancelled', async () => {
    const scheduled_at = new Date(Date.now() + 60 * MINUTES).toISOString();
    const { email_id: id } = await publish({ subject: 'Never', body: 'Hello', scheduled_at });
    expect(await schedules()).toHaveLength(1);
    expect(await newsletters.call('POST', `/v1/emails/${id}/cancel`)).toMatchObject({ status: 'cancelled' });
    expect(await schedules()).toEqual([]);
  });

  it('obeys the commands of an operator', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'post-')), 'post.md');
    writeFileSync(file, '# Third\n\nHello.');
    const sent = await ops(
      'emails',
      'send',
      file,
      '--tenant',
      'TENANT001',
      '--newsletter',
      'weekly',
      '--segment',
      'status:paid',
    );
    await newsletters.ended(sent.email_id);
    expect(await ops('emails', 'status', sent.email_id)).toMatchObject({ counts: { submitted: 1 } });
    expect(await ops('emails', 'recipients', sent.email_id, '--addresses')).toMatchObject([
      { member_id: 'eve', member_email: 'eve@your-domain.example', state: 'submitted' },
    ]);
    expect(await ops('emails', 'resolve', sent.email_id, '--leave')).toMatchObject({ resolved: 0 });
    expect(await stack.invoke('newsletter-clock', {})).not.toHaveProperty('FunctionError');
  });

  const asks = async (group: string, method: ApiRequest['method'], path: string, body?: object) => {
    const headers = { authorization: `Bearer ${await issuer.tokenFor(group)}`, 'content-type': 'application/json' };
    const request_id = `${group}-${path}`.replaceAll(/\W/g, '-').slice(0, 60);
    const answer = await stack.consoleApi({ method, path, headers, ...(body && { body: { request_id, ...body } }) });
    return { status: answer.status, body: JSON.parse(answer.body) };
  };

  it('answers the console nothing without a token, and changes nothing for a viewer', async () => {
    const overview: ApiRequest = { method: 'GET', path: '/api/overview' };
    expect(await stack.consoleApi(overview)).toMatchObject({ status: 401 });
    const forged = `Bearer ${(await issuer.tokenFor('operator')).slice(0, -8)}AAAAAAAA`;
    expect(await stack.consoleApi({ ...overview, headers: { authorization: forged } })).toMatchObject({ status: 401 });
    expect(await asks('stranger', 'GET', '/api/overview')).toMatchObject({ status: 403 });
    expect(await asks('viewer', 'GET', '/api/overview')).toMatchObject({ status: 200 });
    expect(await asks('viewer', 'POST', '/api/operations', { kind: 'redrive', filter: {} })).toMatchObject({
      status: 403,
    });
  });

  it('shows operators all lists of the console', async () => {
    const paths = [
      'session',
      'overview',
      'notifications',
      'dead-letters',
      'operations',
      'newsletters',
      'keys',
      'audit',
    ];
    for (const path of [...paths, 'emails?tenant=TENANT001', `emails/${email_id}`, `emails/${email_id}/recipients`]) {
      expect(await asks('operator', 'GET', `/api/${path}`), path).toMatchObject({ status: 200 });
    }
    expect((await asks('operator', 'GET', '/api/emails?tenant=TENANT001')).body.emails).toHaveLength(4);
    // Where CloudWatch cannot be read, the overview answers all the same, and says why it has no charts.
    expect((await asks('operator', 'GET', '/api/overview')).body).not.toHaveProperty('series_problem');
  });

  it('redrives by a bulk operation of the console, which is audited', async () => {
    receiver.answer = replying(401, '{"error":"unauthorized"}');
    const dead = { notification_type: 'WEBHOOK', recipient_address: `${receiver.url}/dead` };
    await leaveRow(stack, { log_id: 'row-dead', ...dead });
    await stack.npm('batch:notification-retry', ['--json', '--channel=webhook']);
    await until('row-dead is dead', async () => (await stack.row('row-dead'))?.['failure_reason'] === 'AUTH_FAILED');
    expect((await asks('operator', 'GET', '/api/notifications/row-dead')).body).toMatchObject({});

    receiver.answer = replying(200, 'ok');
    const created = await asks('operator', 'POST', '/api/operations', {
      kind: 'redrive',
      filter: { channel: 'webhook' },
    });
    expect(created).toMatchObject({ status: 200 });
    const path = `/api/operations/${created.body.operation_id}`;
    const reaches = (status: string) =>
      until(`the operation is ${status}`, async () => {
        const { body } = await asks('operator', 'GET', path);
        return body.status === status && body;
      });
    expect(await reaches('ready')).toMatchObject({ preview: { matched: 1, taken: 1 } });
    await asks('operator', 'POST', `${path}/start`, {});
    expect(await reaches('done')).toMatchObject({ progress: { taken: 1 } });
    await until('row-dead is delivered', async () => (await stack.row('row-dead'))?.['send_status'] === 'SUCCESS');
    const audit = JSON.stringify((await asks('operator', 'GET', '/api/audit')).body);
    expect(audit).toContain('operation.start');
    expect(audit).toContain('"who":"sub-of-operator"');
  });

  it('was denied nothing', () => expect(refusedCalls(emulator)).toEqual([]));
});
