import { type ChildProcess, fork } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { createNotificationClient } from '../../src/client/index.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { answeredRedrive } from '../../tools/simulation/audit/end-promises.ts';
import { Commands } from '../support/flow/commands.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { readReceipts } from '../support/newsletter/flow/mail-receipts.ts';
import { checkEnd, NewsletterWatch } from '../support/newsletter/flow/newsletter-audit.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { auditTables, lettersOf } from '../support/upgrade/audit-tables.ts';
import { type FormerVersion, formerVersion } from '../support/upgrade/former-version.ts';

/** The commit that this version follows: `tools/scripts/opt-in-tests.ts` has it. */
const FROM = process.env['UPGRADE_FROM'] ?? '';
const BASE_INTERVAL = 4;
const MEMBERS = 240;

type Row = Readonly<Record<string, unknown>>;

const flow = new Flow();
const newsletters = new NewsletterClient(flow);
const dataDir = join(flow.directory, 'data');
const settings = {
  dataDir,
  baseIntervalSeconds: BASE_INTERVAL,
  breaker: { interval_seconds: 3, max_interval_seconds: 3 },
  sesLimits: { per_second: 8 },
};
const INTEGRATIONS = { shop: { secrets: [`whsec_${Buffer.alloc(24, 'shop').toString('base64')}`] } };
let workers: ChildProcess | undefined;

afterAll(async () => {
  workers?.kill('SIGTERM');
  await flow.end();
}, 60_000);

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const PRIORITIES = ['urgent', 'important', 'normal', 'info'];

/** @param word decides how the simulated provider answers */
function row(log_id: string, channel: string, word: string, changes: Row = {}): Row {
  const { simulator } = flow.endpoints.endpoints;
  const addresses: Record<string, string> = {
    email: `${word}+${log_id}@example.com`,
    slack: `#${word}`,
    teams: `${simulator}/teams/${word}/${log_id}`,
    webhook: `${simulator}/webhook/${word}/${log_id}`,
  };
  return {
    log_id,
    tenant_id: 'TENANT001',
    notification_type: channel.toUpperCase(),
    recipient_address: addresses[channel],
    ...(channel === 'email' && { subject: log_id }),
    ...(channel === 'slack' && { integration_config_id: 'local-slack' }),
    message_body: `id=${log_id};`,
    priority: PRIORITIES[log_id.length % 4],
    send_status: 'FAILED',
    send_attempts: 1,
    ...changes,
  };
}

/** `name-CHANNEL-0` … on every channel. */
const onAll = (name: string, count: number, word: string, changes: Row = {}) =>
  CHANNELS.flatMap((channel) => numbered(`${name}-${channel}`, count).map((id) => row(id, channel, word, changes)));
/** Its first attempt fails, and there is no other: the next one, after a redrive, is accepted. */
const DIES = { send_status: 'PENDING', send_attempts: 0, max_retry_count: 0 };

async function rowsOf(name: string): Promise<readonly Row[]> {
  return (await flow.rows()).filter(({ log_id }) => String(log_id).startsWith(`${name}-`));
}
async function until(name: string, isSo: (row: Row) => boolean, timeoutMs = 60_000): Promise<void> {
  await eventually(async () => {
    await setTimeout(500);
    const rows = await rowsOf(name);
    return (rows.length > 0 && rows.every(isSo)) || undefined;
  }, timeoutMs).catch(async () => {
    const rows = (await rowsOf(name)).filter((one) => !isSo(one));
    throw new Error(`${name}: ${JSON.stringify(rows.slice(0, 3))}`);
  });
}
const isDead = ({ work_queue }: Row) => String(work_queue).startsWith('dead');
const isIndexed = ({ work_queue }: Row) => work_queue !== undefined;
const isDelivered = ({ send_status }: Row) => send_status === 'SUCCESS';
const isHeld = ({ send_status, error_type }: Row) => send_status === 'RETRY' && error_type === 'SERVER_OVERLOAD';
const isFinished = ({ send_status, failure_reason }: Row) =>
  send_status === 'SUCCESS' || (send_status === 'FAILED' && failure_reason !== undefined);

/** The log_ids that the API answered, by the text that receivers see. */
const handedOver = new Map<string, string>();

async function handOver(apiKey: string, name: string): Promise<void> {
  const { api } = flow.endpoints.endpoints;
  for (const [i, channel] of CHANNELS.entries()) {
    const given = row(`${name}-${channel}`, channel, i % 2 === 0 ? 'ok' : 'flaky-1');
    const { recipient_address: recipient, message_body: body, subject, priority, integration_config_id } = given;
    const answer = await fetch(`${api}/v1/notifications`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': `${name}-${channel}`,
      },
      body: JSON.stringify({
        channel,
        recipient,
        body,
        priority,
        ...(subject !== undefined && { subject }),
        ...(integration_config_id !== undefined && { integration_config_id }),
      }),
    });
    const text = await answer.text();
    expect(answer.status, text).toBeLessThan(300);
    handedOver.set(String(body), (JSON.parse(text) as { log_id: string }).log_id);
  }
}

/** A producer of a version, whose API is not there: what it sends goes to the spool. */
async function spool(root: string, apiKey: string): Promise<void> {
  const path = pathToFileURL(join(root, 'src', 'client', 'index.ts')).href;
  const former = (await import(path)) as { createNotificationClient: typeof createNotificationClient };
  const client = former.createNotificationClient({ url: 'http://127.0.0.1:9', apiKey, spoolDirectory });
  for (const name of SPOOLED) {
    const { recipient_address, message_body } = row(name, 'webhook', 'ok');
    await client.send({ channel: 'webhook', recipient: String(recipient_address), body: String(message_body) });
  }
}
const SPOOLED = numbered('spooled', 4);
const spoolDirectory = join(flow.directory, 'spool');

const members = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    member_id: `m-${from + i}`,
    email: `${{ 7: 'missing', 17: 'flaky-1' }[i] ?? 'reader'}+${from + i}@example.com`,
    status: i % 12 === 0 ? 'paid' : 'free',
    newsletters: ['weekly'],
  }));

/** The functions of the former version, on the tables and queues of this one. */
async function startFormerWorkers({ assembly }: FormerVersion): Promise<ChildProcess> {
  const home = join(flow.directory, 'former');
  mkdirSync(home);
  cpSync(join(dataDir, 'streams'), join(home, 'streams'), { recursive: true });
  const endpoints = join(flow.directory, '.local', 'endpoints.json');
  const script = join(import.meta.dirname, '..', 'support', 'upgrade', 'run-former-workers.ts');
  const child = fork(script, [assembly, endpoints, home, String(BASE_INTERVAL)]);
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', reject);
  });
  return child;
}

/** What the former version left is of every kind. */
async function checkBegun(rows: readonly Row[], email_id: string): Promise<void> {
  const kinds = rows.map(({ log_id, send_status, work_queue = 'none' }) => {
    return `${String(log_id).split('-')[0]} ${String(send_status)} ${String(work_queue).split('#')[0]}`;
  });
  for (const kind of ['dead FAILED dead', 'due FAILED due', 'held RETRY due', 'paced FAILED due'])
    expect(kinds).toContain(kind);
  for (const kind of ['claimed SENDING due', 'delivered SUCCESS none', 'replayed FAILED dead'])
    expect(kinds).toContain(kind);
  const { counts } = await newsletters.status(email_id);
  expect(counts.submitted).toBeGreaterThan(0);
  expect(counts.pending).toBeGreaterThan(0);
  console.log(JSON.stringify([...Map.groupBy(kinds, (kind) => kind)].map(([kind, some]) => `${some.length} ${kind}`)));
}

/** Sweeps until nothing is left to do. */
async function untilQuiet(): Promise<void> {
  await eventually(async () => {
    await flow.job();
    await setTimeout(4_000);
    return (await flow.rows()).every(isFinished) || undefined;
  }, 300_000).catch(async () => {
    const open = (await flow.rows()).filter((one) => !isFinished(one));
    throw new Error(`${open.length} are left: ${JSON.stringify(open.slice(0, 5))}`);
  });
  await eventually(async () => {
    await setTimeout(1_000);
    const dead = (await flow.rows()).filter(isDead).length;
    return (await lettersOf(flow)).length >= dead || undefined;
  }, 120_000).catch(() => {});
}

async function checkEmail(id: string, expected: readonly string[]): Promise<void> {
  await eventually(async () => {
    await setTimeout(1_000);
    const { status } = await newsletters.status(id);
    return status === 'submitted' || status === 'failed' || undefined;
  }, 240_000);
  const receipts = (await readReceipts(dataDir)).filter(({ tags }) => tags['email_id'] === id);
  const status = await newsletters.status(id);
  expect(status.status, JSON.stringify(status)).toBe('submitted');
  checkEnd({ expected, recipients: await newsletters.recipients(id), receipts, status });
}

it(`continues what ${FROM} has begun, beside its workers and then alone`, async () => {
  const former = await formerVersion(FROM);
  await flow.start(settings, INTEGRATIONS, former);
  await newsletters.setUpNewsletter();
  const made = ['keys', 'create', '--tenant', 'TENANT001', '--scope', 'send', '--scope', 'read'];
  const { key } = await flow.opsJson<{ key: string }>(...made);

  // What has ended, what is dead, and what a breaker holds.
  await flow.receiver('/webhook/shop', 'down');
  await flow.put([
    ...onAll('delivered', 2, 'ok'),
    ...onAll('dead', 3, 'flaky-1', DIES),
    ...onAll('refused', 1, 'unauthorized'),
    ...numbered('replayed', 40).map((id) => row(id, 'webhook', 'flaky-1', { ...DIES, tenant_id: 'REPLAYED' })),
    ...numbered('held', 12).map((id) => row(id, 'webhook', 'shop', { integration_config_id: 'shop' })),
  ]);
  await until('held', isIndexed);
  await until('dead', isIndexed);
  await flow.job();
  await until('delivered', isDelivered);
  for (const dead of ['dead', 'refused', 'replayed']) await until(dead, isDead);
  await until('held', isHeld);

  // An operation and an email that are half done, mails that wait for their slots, retries, claims, rows, a spool.
  await newsletters.upsert(members(0, MEMBERS));
  const weekly = await newsletters.publish({ subject: 'Half sent', body: 'News.' });
  const inAMinute = new Date(Date.now() + 90_000).toISOString();
  const scheduled = await newsletters.publish({ subject: 'Later', body: 'News.', scheduled_at: inAMinute });
  const paused = await newsletters.publish({ subject: 'Paused', body: 'News.', scheduled_at: inAMinute });
  await newsletters.decide(paused, 'pause');
  await spool(former.root, key);
  await eventually(async () => (await newsletters.status(weekly)).counts.submitted > 20 || undefined, 90_000);
  await flow.put(onAll('retried', 2, 'flaky-2'));
  await until('retried', isIndexed);
  expect((await flow.ops('status')).stdout).toMatch(/^webhook +shop +open /m);
  const replay = ['replay', '--tenant', 'REPLAYED', '--rate', '1', '--yes'];
  const operation = flow.opsProcess(...replay);
  await flow.job();
  await handOver(key, 'handed');
  await until('retried', ({ send_status }) => send_status === 'RETRY');
  await eventually(async () => (await rowsOf('replayed')).some((one) => one['replay_id']) || undefined, 60_000);
  const SWEPT = { tenant_id: 'SWEPT' };
  await flow.put([
    ...onAll('due', 2, 'ok'),
    ...numbered('paced', 60).map((id) => row(id, 'email', 'ok', SWEPT)),
    ...numbered('claimed', 3).map((id) => row(id, 'webhook', 'slow-9000', SWEPT)),
  ]);
  for (const name of ['due', 'paced', 'claimed']) await until(name, isIndexed);
  await flow.job('--tenant=SWEPT');
  await until('claimed', ({ send_status }) => send_status === 'SENDING');
  await flow.put(onAll('unindexed', 2, 'ok'));
  await flow.stop('SIGKILL');
  await operation;

  await flow.start(settings);
  const atStart = await flow.rows();
  const excused = new Set(
    atStart.filter((one) => one['send_status'] === 'SENDING').map((one) => String(one['log_id'])),
  );
  await checkBegun(atStart, weekly);
  workers = await startFormerWorkers(former);
  const watch = new NewsletterWatch(newsletters, () => [weekly]);

  // Both versions work on all of it, and on what comes meanwhile.
  const client = createNotificationClient({ url: flow.endpoints.endpoints.api, apiKey: key, spoolDirectory });
  await client.flush();
  expect(readdirSync(spoolDirectory)).toEqual([]);
  await flow.put([...onAll('both', 3, 'flaky-1'), ...onAll('both-refused', 1, 'unauthorized')]);
  await handOver(key, 'handed-both');
  const formerCommands = new Commands(flow.directory, former.root);
  for (let round = 0; round < 3; round++) {
    await flow.job();
    await setTimeout(2_000);
    workers.send('sweep');
    await formerCommands.jobProcess(['--local']);
    await setTimeout(2_000);
  }
  const post = { body: 'News.', segment: 'status:paid' };
  const both = await Promise.all(numbered('both', 5).map((subject) => newsletters.publish({ subject, ...post })));
  expect(await flow.opsJson('dlq', 'redrive', '--channel', 'teams', '--yes')).toEqual({ moved: expect.any(Number) });
  const retry = await formerCommands.ops(['retry', 'dead-slack-0', 'dead-webhook-0', '--json']);
  expect(retry, retry.stderr).toMatchObject({ code: 0 });
  await setTimeout(20_000);
  const stopped = new Promise((resolve) => workers?.once('exit', resolve));
  workers.kill('SIGTERM');
  await stopped;
  for (const service of ['due-indexer', 'dispatcher', 'send-email', 'send-webhook', 'newsletter-events'])
    expect(readFileSync(join(flow.directory, 'former', `${service}.log`), 'utf8').length, service).toBeGreaterThan(0);

  // This version alone.
  await newsletters.decide(paused, 'resume');
  await flow.put(onAll('alone', 2, 'flaky-1'));
  await until('alone', isIndexed);
  await untilQuiet();
  await auditTables(flow, { handedOver, excused });
  const dead = (await flow.rows()).filter(isDead);
  expect(dead.length).toBeGreaterThan(0);
  for (const channel of CHANNELS) await flow.ops('dlq', 'redrive', '--channel', channel, '--yes');
  await setTimeout(5_000);
  await untilQuiet();
  expect(answeredRedrive(dead, await flow.rows())).toEqual([]);
  await auditTables(flow, { handedOver, excused });
  const delivered = [...(await rowsOf('dead')), ...(await rowsOf('replayed')), ...(await rowsOf('held'))];
  expect(delivered.filter((one) => !isDelivered(one))).toEqual([]);
  // The console of a runtime that starts continues an operation that was interrupted.
  const operations = new Set((await rowsOf('replayed')).map(({ replay_id }) => replay_id));
  expect([...operations]).toEqual([atStart.find(({ replay_id }) => replay_id !== undefined)?.['replay_id']]);

  const everybody = members(0, MEMBERS);
  for (const id of [weekly, scheduled, paused, ...both]) {
    const reached = everybody.filter(({ status }) => !both.includes(id) || status === 'paid');
    await checkEmail(
      id,
      reached.map(({ email }) => email),
    );
  }
  await watch.end();
}, 1_200_000);
