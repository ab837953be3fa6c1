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
const { data: page } = await client.GET('/v1/notifications', { params: { query: { channel: 'webhook' } } });
const reused = await send('typescript', { ...notification, body: 'Something else' });
process.stdout.write(
  JSON.stringify({
    log_id: accepted.log_id,
    attempts: done.attempts.map(({ status }) => status),
    repeats: [first, second].map((result) => result !== undefined && 'repeat' in result && result.repeat),
    refused: refused !== undefined && 'type' in refused ? refused.type : undefined,
    listed: page?.notifications.some(({ log_id }) => log_id === accepted.log_id) ?? false,
    reused: reused.error && 'type' in reused.error ? reused.error.type : undefined,
  }),
);
