// A producer with a client that openapi-typescript generated: test/clients/generated-clients.test.ts compiles and runs it.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

const { API = '', API_KEY = '', RECIPIENT = '' } = process.env;
const client = createClient<paths>({ baseUrl: API, headers: { authorization: `Bearer ${API_KEY}` } });
const notification: components['schemas']['Notification'] = { channel: 'webhook', recipient: RECIPIENT, body: 'Hello' };

async function send(key: string, body = notification) {
  return client.POST('/v1/notifications', { params: { header: { 'Idempotency-Key': key } }, body });
}

async function sendBatch() {
  const notifications = [notification, { ...notification, recipient: '' }];
  const params = { header: { 'Idempotency-Key': 'typescript-batch' } };
  const { data, error } = await client.POST('/v1/notifications/batch', { params, body: { notifications } });
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data.results.map((result) => (result.status === 202 ? { repeat: result.repeat ?? false } : result.problem));
}

async function untilDone(log_id: string) {
  for (;;) {
    const { data, error } = await client.GET('/v1/notifications/{log_id}', { params: { path: { log_id } } });
    if (data === undefined) throw new Error(JSON.stringify(error));
    if (data.status === 'done') return data;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const { data: accepted, error } = await send('typescript');
if (accepted === undefined) throw new Error(JSON.stringify(error));
const done = await untilDone(accepted.log_id);
const [first] = await sendBatch();
const [second, refused] = await sendBatch();
const from = new Date(Date.now() - 3_600_000).toISOString();
const query = { channel: 'webhook', limit: 7, from } as const;
const { data: page } = await client.GET('/v1/notifications', { params: { query } });
const later = await send('typescript-later', {
  ...notification,
  body: 'Later',
  scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  max_retry_count: 3,
});
const waiting = await client.GET('/v1/notifications/{log_id}', {
  params: { path: { log_id: later.data?.log_id ?? '' } },
});
const ahead: number = Date.parse(waiting.data?.scheduled_at ?? '') - Date.now();
const retries: number | undefined = waiting.data?.retry_count;
const reused = await send('typescript', { ...notification, body: 'Something else' });
process.stdout.write(
  JSON.stringify({
    log_id: accepted.log_id,
    attempts: done.attempts.map(({ status }) => status),
    repeats: [first, second].map((result) => result !== undefined && 'repeat' in result && result.repeat),
    refused: refused !== undefined && 'type' in refused ? refused.type : undefined,
    listed: page?.notifications.some(({ log_id }) => log_id === accepted.log_id) ?? false,
    scheduled: ahead > 86_000_000 && ahead < 86_400_000 && retries === 0,
    reused: reused.error && 'type' in reused.error ? reused.error.type : undefined,
  }),
);
