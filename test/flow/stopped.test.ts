import { afterAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
afterAll(async () => {
  await flow.stop();
  flow.remove();
}, 60_000);

it('a runtime that is stopped finishes the running attempt: after a restart nothing has to be repeated', async () => {
  const settings = { dataDir: `${flow.directory}/data` };
  await flow.start(settings);
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
}, 120_000);
