import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const EXAMPLE = join(PROJECT_ROOT, 'examples', 'background-job');
const WORKER_SECRET = `whsec_${randomBytes(24).toString('base64')}`;
const MAX_RETRIES = 2;

const flow = new Flow();
let worker: ChildProcess;
let environment: Record<string, string>;

beforeAll(async () => {
  const retry = { base_interval_seconds: 0.2, max_retries: MAX_RETRIES };
  // Of the stage's interval, five minutes, the test would see no retry at all.
  await flow.start({ console: false }, { jobs: { tenant_id: '*', secrets: [WORKER_SECRET], retry } });
  const scopes = ['send', 'read', 'operate'].flatMap((scope) => ['--scope', scope]);
  const { key } = await flow.opsJson<{ key: string }>('keys', 'create', '--tenant', 'T1', ...scopes);
  const PORT = String(await freePort());
  environment = {
    NOTIFICATION_API_URL: flow.endpoints.endpoints.api,
    NOTIFICATION_API_KEY: key,
    WORKER_URL: `http://127.0.0.1:${PORT}`,
    WORKER_SECRET,
    PORT,
  };
  worker = start('worker.ts');
  if (worker.stdout) await once(worker.stdout, 'data');
}, 180_000);
afterAll(async () => {
  worker?.kill();
  await flow.end();
}, 60_000);

function start(script: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', join(EXAMPLE, script), ...args], {
    cwd: PROJECT_ROOT,
    env: { ...process.env, ...environment, NOTIFICATION_SPOOL_DIRECTORY: join(flow.directory, 'spool') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function handOver(url: string): Promise<string> {
  const producer = start('main.ts', 'llm_processing', url);
  let out = '';
  producer.stdout?.on('data', (text: Buffer) => {
    out += text;
  });
  expect(await once(producer, 'close')).toEqual([0, null]);
  return JSON.parse(out).log_id;
}

const get = async (path: string) => {
  const headers = { authorization: `Bearer ${environment['NOTIFICATION_API_KEY']}` };
  // biome-ignore lint/suspicious/noExplicitAny: the test reads answers of any shape
  return (await fetch(`${environment['NOTIFICATION_API_URL']}${path}`, { headers })).json() as any;
};

/** The rest of retry-and-idempotency-design.md is walked in api.test.ts. */
it('§4: a job is done by its worker, or is a dead letter after its retries, with the columns of failed_jobs', async () => {
  const [good, bad] = await Promise.all([
    handOver('https://your-domain.example/post'),
    handOver('https://unreachable.example/post'),
  ]);
  await eventually(async () => (await get(`/v1/notifications/${good}`)).status === 'done' || undefined, 30_000);
  const letters = await eventually(async () => {
    const { dead_letters } = await flow.opsJson<{ dead_letters: object[] }>('dlq', 'list', '--channel', 'webhook');
    return dead_letters.length > 0 ? dead_letters : undefined;
  }, 60_000);
  const failed_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  const failed = { log_id: bad, job_type: 'llm_processing', error_type: 'SERVER_OVERLOAD', failed_at, retryable: true };
  expect(letters).toEqual([
    expect.objectContaining({
      ...failed,
      failure_reason: 'MAX_RETRIES',
      error_message: expect.stringContaining('503'),
    }),
  ]);
  const { notifications } = await get('/v1/notifications?status=failed');
  expect(notifications).toEqual([expect.objectContaining({ ...failed, errorMessage: expect.any(String) })]);
  const { attempts } = await get(`/v1/notifications/${bad}`);
  expect(attempts.map(({ status }: { status: string }) => status)).toEqual(Array(MAX_RETRIES + 1).fill('FAILED'));
  const done = await get(`/v1/notifications/${good}`);
  expect(done).toMatchObject({ job_type: 'llm_processing', attempts: [{ status: 'SUCCESS' }] });
  expect(done).not.toHaveProperty('retryable');
}, 120_000);
