import { join } from 'node:path';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { afterEach, expect, it } from 'vitest';
import { createEmailSchedules } from '../../../src/adapters/scheduler/email-schedules.ts';
import { serve } from '../../../src/http/loopback-server.ts';
import { startOneTimeSchedules } from '../../../src/local/emulator/events/one-time-schedules.ts';
import { eventually } from '../../support/local/tiny-app.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The adapter against the local Scheduler, which may be started again on the same file. */
async function start(file = join(process.env['TMPDIR'] ?? '/tmp', `schedules-${process.pid}-${Math.random()}.json`)) {
  const sent: [string, string][] = [];
  const local = startOneTimeSchedules({
    file,
    send: async (queue, body) => void sent.push([queue, body]),
    log: () => {},
  });
  ends.push(() => local.stop());
  const server = await serve(local.handle, 0, 'the Scheduler');
  ends.push(() => server.close());
  const client = new SchedulerClient({
    endpoint: server.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const schedules = createEmailSchedules(client, {
    group: 'notification-retry-dev',
    queue_arn: 'arn:aws:sqs:us-east-1:000000000000:newsletter-prepare',
    role_arn: 'arn:aws:iam::000000000000:role/schedules',
  });
  return { schedules, sent, file, stop: () => local.stop() };
}

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
const STARTS = ['newsletter-prepare', '{"version":1,"kind":"start","email_id":"e1"}'];

it('starts an email once, at its time and not before it, however often it was asked for', async () => {
  const { schedules, sent } = await start();
  const at = inSeconds(1.2);
  await schedules.create('e1', at);
  await schedules.create('e1', at);
  expect(sent).toEqual([]);
  await eventually(() => (sent.length > 0 ? true : undefined), 5_000);
  expect(new Date().toISOString() >= at).toBe(true);
  expect(sent).toEqual([STARTS]);
});

it('survives the runtime, and starts at once what was due meanwhile', async () => {
  const { schedules, file, stop } = await start();
  await schedules.create('e1', inSeconds(0.5));
  stop();
  const again = await start(file);
  await eventually(() => (again.sent.length > 0 ? true : undefined), 5_000);
  expect(again.sent).toEqual([STARTS]);
});

it('forgets what is removed, and does nothing for what is unknown', async () => {
  const { schedules, sent } = await start();
  await schedules.create('e1', inSeconds(0.5));
  await schedules.remove('e1');
  await schedules.remove('e1');
  await new Promise((resolve) => setTimeout(resolve, 2_200));
  expect(sent).toEqual([]);
});
