import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricStatisticsCommand,
  SetAlarmStateCommand,
} from '@aws-sdk/client-cloudwatch';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Page } from 'playwright-core';
import { unsubscribeToken } from '../../src/adapters/signing/signed-tokens.ts';
import { launchChromium } from '../third-party/browser/find-chromium.ts';
import { type HttpRequest, type SmokeAccount, until } from './account.ts';
import type { Check } from './checks.ts';
import { CONSOLE_USER_OUTPUT, codeOf, type MadeUser } from './console-user.ts';
import { ALARM_QUEUE_OUTPUT, LINK_SECRET_OUTPUT, STACK } from './stack.ts';

const SENT_WITHIN_S = 120;
/** SES publishes an event within minutes of the mail, and CloudWatch shows a metric within minutes of its log line. */
const EVENT_WITHIN_S = 600;
const TENANT = 'SMOKE';

type Answer = Readonly<Record<string, unknown>>;

/** A producer with a key of its own, as `ops keys create` makes it. */
async function producer(account: SmokeAccount, ...scopes: readonly string[]) {
  const wanted = scopes.flatMap((scope) => ['--scope', scope]);
  const { key } = await account.ops<{ key: string }>('keys', 'create', '--tenant', TENANT, ...wanted);
  return async <A = Answer>(
    method: NonNullable<HttpRequest['method']>,
    path: string,
    body?: object,
    token = key,
  ): Promise<A> => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() };
    const answer = await account.api(path, { method, headers, ...(body && { body }) });
    if ((answer.status ?? 500) >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  };
}

const api: Check = {
  name: 'API',
  expects: 'a key posts and reads a notification, and a page’s token reads this one and no other',
  async run(account) {
    const call = await producer(account, 'send', 'read', 'operate');
    const post = { channel: 'email', priority: 'urgent', subject: 'Smoke test', body: 'Sent by npm run smoke:aws.' };
    const recipient = 'success@simulator.amazonses.com';
    const made = () => call<{ log_id: string }>('POST', '/v1/notifications', { ...post, recipient });
    const [{ log_id }, other] = [await made(), await made()];
    await until('the API says that it is done', SENT_WITHIN_S, async () => {
      return (await call('GET', `/v1/notifications/${log_id}`))['status'] === 'done';
    });
    const { token } = await call<{ token: string }>('POST', '/v1/tokens', { log_ids: [log_id] });
    await call('GET', `/v1/notifications/${log_id}`, undefined, token);
    await assert.rejects(call('GET', `/v1/notifications/${other.log_id}`, undefined, token), /: 40[34] /);
    await assert.rejects(call('GET', `/v1/notifications/${log_id}`, undefined, `${token}x`), /: 40[13] /);
  },
};

interface Email extends Answer {
  readonly status: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** One newsletter of the run: a post to all of SES's simulator, and a scheduled one to a single reader. */
const mailing: Check = {
  name: 'mailing',
  expects: 'a post with }} and {{ leaves for each member, as SES counts and as we do, and a scheduled one at its time',
  async run(account) {
    const call = await producer(account, 'newsletters:read', 'newsletters:write');
    const newsletter_id = account.id('letter');
    await call('PUT', `/v1/newsletters/${newsletter_id}`, { name: 'Smoke', from: `Smoke <${account.sender}>` });
    const names = ['success', 'bounce', 'complaint'];
    const members = names.map((name) => ({
      member_id: account.id(name),
      email: `${name}+${account.id('m')}@simulator.amazonses.com`,
      name: 'Ann',
      labels: [name],
      newsletters: [newsletter_id],
    }));
    await call('POST', '/v1/members', { members });
    const post = { newsletter_id, subject: 'Smoke }} test {{', format: 'text' };
    const body = 'Hello {name, "reader"}: {{ literal }} \\ text {unsubscribe_url}';
    const { email_id } = await call<{ email_id: string }>('POST', '/v1/emails', { ...post, body });
    const ended = (id: string) =>
      until(`${id} has ended`, SENT_WITHIN_S + 120, async () => {
        const email = await call<Email>('GET', `/v1/emails/${id}`);
        return ['submitted', 'failed'].includes(email.status) && email;
      });
    const sent = await ended(email_id);
    assert.equal(sent.status, 'submitted', JSON.stringify(sent));
    assert.equal(sent.counts['submitted'], 3);
    mailings.set(account, { call, email_id, newsletter_id, ended });

    const scheduled_at = new Date(Date.now() + 60_000).toISOString();
    const scheduled = { ...post, body, scheduled_at, segment: 'label:success' };
    const later = await call<{ email_id: string }>('POST', '/v1/emails', scheduled);
    const done = await ended(later.email_id);
    assert.equal(done.counts['submitted'], 1, JSON.stringify(done));
    assert.ok(String(done['submitted_at']) >= scheduled_at, 'it was sent before its time');
    mailings.set(account, { call, email_id, newsletter_id, ended, scheduled_id: later.email_id });
  },
};

interface Mailing {
  readonly call: Awaited<ReturnType<typeof producer>>;
  readonly email_id: string;
  readonly newsletter_id: string;
  readonly ended: (id: string) => Promise<Email>;
  readonly scheduled_id?: string;
}
/** What the steps after a mailing go on with. */
const mailings = new WeakMap<SmokeAccount, Mailing>();

function mailingOf(account: SmokeAccount): Mailing {
  const found = mailings.get(account);
  if (found === undefined) throw new Error('there is no mailing to go on with');
  return found;
}

const events: Check = {
  name: 'events of the mailing',
  expects: 'SES’s events count delivery, bounce and complaint, so it also rendered each mail',
  only_aws: 'ministack publishes no events of SES',
  async run(account) {
    const { call, email_id } = mailingOf(account);
    await until('delivery, bounce and complaint are counted', EVENT_WITHIN_S, async () => {
      const { counts } = await call<Email>('GET', `/v1/emails/${email_id}`);
      return (counts['delivered'] ?? 0) >= 1 && counts['bounced'] === 1 && counts['complained'] === 1;
    });
  },
};

const unsubscribe: Check = {
  name: 'unsubscription',
  expects: 'one click on the link of a mail unsubscribes its reader, and a forged link nobody',
  async run(account) {
    const { call, scheduled_id = '' } = mailingOf(account);
    const { batches } = await call<{ batches: readonly { batch_id: string }[] }>(
      ...(['GET', `/v1/emails/${scheduled_id}/batches`] as const),
    );
    const SecretId = account.outputs[LINK_SECRET_OUTPUT];
    const { SecretString = '' } = await new SecretsManagerClient({}).send(new GetSecretValueCommand({ SecretId }));
    const place = { email_id: scheduled_id, batch_id: batches[0]?.batch_id ?? '', chunk: 0, n: 0 };
    const path = `/u/${unsubscribeToken(SecretString, place)}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const click = { method: 'POST', headers, body: 'List-Unsubscribe=One-Click' } as const;
    assert.equal((await account.api(path)).status, 200);
    const altered = path.replace(/[^.]+$/, (signed) => [...signed].reverse().join(''));
    assert.equal((await account.api(altered, click)).status, 404);
    assert.equal((await account.api(path, click)).status, 200);
    const { counts } = await call<Email>('GET', `/v1/emails/${scheduled_id}`);
    assert.equal(counts['unsubscribed'], 1);
  },
};

const alarms: Check = {
  name: 'alarms',
  expects: 'an alarm that rings reaches a queue by the encrypted topic',
  only_aws: 'ministack calls no action of an alarm',
  async run({ taken }) {
    const cloudwatch = new CloudWatchClient({});
    const { MetricAlarms = [] } = await cloudwatch.send(new DescribeAlarmsCommand({ AlarmNamePrefix: STACK }));
    const AlarmName = MetricAlarms[0]?.AlarmName;
    const StateReason = 'npm run smoke:aws';
    await cloudwatch.send(new SetAlarmStateCommand({ AlarmName, StateValue: 'ALARM', StateReason }));
    await taken(String(AlarmName), ALARM_QUEUE_OUTPUT, (body) => body.includes(StateReason));
  },
};

const metrics: Check = {
  name: 'metrics',
  expects: 'CloudWatch reads from the functions’ log lines what was delivered',
  only_aws: 'ministack makes no metrics of log lines',
  async run({ outputs }) {
    const cloudwatch = new CloudWatchClient({});
    const Dimensions = [
      { Name: 'service', Value: 'send-email' },
      { Name: 'channel', Value: 'email' },
    ];
    await until('Delivered of the channel email is above zero', EVENT_WITHIN_S, async () => {
      const { Datapoints = [] } = await cloudwatch.send(
        new GetMetricStatisticsCommand({
          Namespace: outputs['MetricNamespace'],
          MetricName: 'Delivered',
          Dimensions,
          Statistics: ['Sum'],
          StartTime: new Date(Date.now() - 7_200_000),
          EndTime: new Date(),
          Period: 300,
        }),
      );
      return Datapoints.some(({ Sum = 0 }) => Sum > 0);
    });
  },
};

const console_: Check = {
  name: 'console',
  expects: 'somebody with a password and an authenticator signs in by Cognito’s page and sees the overview',
  only_aws: 'ministack has neither Cognito’s pages nor CloudFront',
  async run({ outputs, invoke, id }) {
    const email = `${id('operator')}@simulator.amazonses.com`;
    const password = `${randomUUID()}Aa!`;
    const { session, secret } = await invoke<MadeUser>(CONSOLE_USER_OUTPUT, { email, password });
    await invoke(CONSOLE_USER_OUTPUT, { email, session, code: codeOf(secret) });
    // Cognito takes a code once.
    await sleep(31_000);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(outputs['ConsoleUrl'] ?? '');
      await signIn(page, email, password, () => codeOf(secret));
      await page.waitForURL((url) => url.origin === outputs['ConsoleUrl']);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText(email).first().waitFor();
    } finally {
      await browser.close();
    }
  },
};

/** Fills in what the sign-in page shows, which has each field twice, for small and for large screens. */
async function signIn(page: Page, email: string, password: string, code: () => string): Promise<void> {
  await page.locator('input[name="username"]:visible').fill(email);
  await page.locator('input[name="password"]:visible').fill(password);
  await page.keyboard.press('Enter');
  await page.locator('input[name*="code"]:visible').fill(code());
  await page.keyboard.press('Enter');
}

/** What producers, readers and operators meet. Metrics come last: their log lines are some minutes old then. */
export const INTERFACE_CHECKS: readonly Check[] = [api, mailing, events, unsubscribe, alarms, console_, metrics];
