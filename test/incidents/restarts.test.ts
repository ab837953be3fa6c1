import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
const settings = { dataDir: `${flow.directory}/data`, baseIntervalSeconds: 0.5 };
beforeAll(() => flow.start(settings), 180_000);
afterAll(() => flow.end(), 60_000);

it('a runtime that is stopped finishes the running attempt: after a restart nothing has to be repeated', async () => {
  const recipient_address = `${flow.endpoints.endpoints.simulator}/webhook/slow-2000/stopped`;
  const row = { tenant_id: 'T1', notification_type: 'WEBHOOK', recipient_address, message_body: 'x' };
  await flow.put([{ log_id: 'stopped', send_status: 'FAILED', ...row }]);
  const job = flow.job();
  await eventually(async () => ((await flow.row('stopped'))['send_status'] === 'SENDING' ? true : undefined));
  await flow.stop('SIGTERM');
  await job.catch(() => {});
  await flow.start(settings);
  expect(await flow.row('stopped')).toMatchObject({ send_status: 'SUCCESS' });
  expect(await flow.records('stopped')).toMatchObject([{ retry_status: 'SUCCESS' }]);
  expect(await flow.received('log_id=stopped')).toHaveLength(1);
}, 240_000);

it('a runtime that is killed loses nothing: after a restart every notification reaches its final state', async () => {
  const ids = Array.from({ length: 60 }, (_, i) => `k-${i}`);
  // E-mail, because a webhook's address contains the killed runtime's port. Every third one needs a second retry.
  const rows = ids.map((log_id, i) => ({
    log_id,
    tenant_id: 'TENANT001',
    notification_type: 'EMAIL',
    recipient_address: `${i % 3 === 0 ? 'flaky-1' : 'ok'}+${i}@example.com`,
    message_body: '本文',
    send_status: 'FAILED',
  }));
  await flow.put(rows);
  await flow.job();
  await eventually(async () => ((await flow.row('k-0'))['send_status'] === 'FAILED' ? undefined : true));
  await flow.stop('SIGKILL');
  await flow.start(settings);
  // A notification that was claimed when the runtime died is due when its claim expires, 65 seconds later.
  await eventually(async () => {
    await flow.job();
    await setTimeout(5_000);
    const states = await Promise.all(ids.map((log_id) => flow.row(log_id)));
    return states.every(({ send_status }) => send_status === 'SUCCESS') ? true : undefined;
  }, 300_000);
  for (const log_id of ids) {
    const { last_attempt, send_attempts } = await flow.row(log_id);
    const attempts = (await flow.records(log_id)).map(({ retry_attempt }) => retry_attempt);
    expect(attempts, `each attempt on ${log_id} has its record`).toEqual(
      Array.from({ length: Number(last_attempt) }, (_, i) => i + 1),
    );
    expect(Number(send_attempts)).toBeLessThanOrEqual(6);
  }
  const { code, stdout } = await flow.ops('verify', '--letters', '--json');
  const { equation, records_checked } = JSON.parse(stdout);
  expect({ code, equation, records_checked }).toEqual({
    code: 0,
    equation: '61 accepted = 61 delivered',
    records_checked: 61,
  });
}, 420_000);
