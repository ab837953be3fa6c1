import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createApiKeyStore, newApiKey } from '../../../src/adapters/api-keys/api-key.ts';
import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createNotificationClient, type NotificationClient } from '../../../src/client/index.ts';
import { type AwsClients, awsClients } from '../../../src/local/emulator/aws-clients.ts';
import type { Received } from '../../../src/local/providers/received-log.ts';
import { type LocalRuntime, startLocalRuntime } from '../../../src/local/runtime/runtime.ts';
import type { Benchmark } from '../benchmark.ts';
import { type Measurement, median } from '../figure.ts';
import { deployedFunctions } from '../setup/function.ts';
import {
  duplicatesIn,
  importMembers,
  newsletterNames,
  POST_NOTE,
  publish,
  receiptsOf,
  TENANT,
} from '../setup/newsletter.ts';

const MEMBERS = 50_000;
const PER_SECOND = 500;
const EMAIL = 'rate';
const URGENT_EVERY_MS = 500;
const LONGEST_MS = 15 * 60_000;

/**
 * Budget (docs/architecture.md), on the whole local runtime: the rate that is achieved, and what urgent mail waits for.
 */
export const newsletterRate: Benchmark = {
  name: 'newsletter-rate',
  describes: 'rate of 50,000 recipients at 500 a second, refusals, and what urgent mail waits meanwhile',
  async run(context) {
    const { dataDir, storeKeys } = await importMembers(context, 'newsletter-rate', MEMBERS);
    const runtime = await startLocalRuntime({
      dataDir,
      workDir: dataDir,
      assemblyDir: context.stack.directory,
      sesLimits: { per_second: PER_SECOND, per_day: -1 },
      schedule: 'off',
      onProgress: (step) => context.step(`newsletter-rate: ${step}`),
    });
    const { dynamodb, sqs } = runtime.endpoints.endpoints;
    const clients = awsClients(dynamodb, sqs);
    try {
      const names = newsletterNames(deployedFunctions(context.stack, sqs));
      await storeKeys(clients.dynamodb, names.data_keys);
      const url = runtime.endpoints.endpoints.api;
      const apiKey = await sendingKey(runtime, clients);
      const producer = createNotificationClient({ url, apiKey, spoolDirectory: join(dataDir, 'spool') });
      await publish(EMAIL, names, clients);
      const emails = createEmailStore(clients.dynamodb, names.emails, () => new Date());
      const urgent: Promise<number>[] = [];
      const started = Date.now();
      for (;;) {
        await setTimeout(URGENT_EVERY_MS);
        const email = await emails.read(EMAIL);
        if (email?.status === 'submitted') break;
        if (email?.status === 'failed' || Date.now() - started > LONGEST_MS) {
          throw new Error(`The email is ${email?.status}: ${email?.error}`);
        }
        if (email?.prepared === undefined) continue;
        context.step(`newsletter-rate: ${MEMBERS} recipients at ${PER_SECOND} a second, ${urgent.length} urgent mails`);
        urgent.push(handOver(producer, urgent.length));
      }
      return await figuresOf(runtime, await Promise.all(urgent));
    } finally {
      clients.destroy();
      await runtime.stop();
    }
  },
};

async function sendingKey({ endpoints }: LocalRuntime, { dynamodb }: AwsClients): Promise<string> {
  const { key_id, key, secret_hash } = newApiKey();
  const created_at = new Date().toISOString();
  const made = { key_id, secret_hash, tenant_id: TENANT, scopes: ['send'] as const, rate_limit: 1_000, created_at };
  await createApiKeyStore(dynamodb, endpoints.tables.api_keys).create(made);
  return key;
}

/** Hands an urgent e-mail over to the API. @returns when the answer came */
async function handOver(producer: NotificationClient, number: number): Promise<number> {
  const recipient = `urgent.${number}@example.com`;
  const result = await producer.send({
    channel: 'email',
    priority: 'urgent',
    recipient,
    subject: 'Urgent',
    body: 'Now.',
  });
  if (result.state !== 'accepted') throw new Error(`An urgent mail was not accepted: ${JSON.stringify(result)}`);
  return Date.now();
}

async function figuresOf({ endpoints }: LocalRuntime, handedOver: readonly number[]): Promise<Measurement[]> {
  const read = async <T>(url: string) => (await (await fetch(url)).json()) as T;
  const { ses, simulator } = endpoints.endpoints;
  const receipts = await receiptsOf(EMAIL, ses);
  const { refused } = await read<{ refused: Record<string, number> }>(`${ses}/_limits`);
  const received = await read<Received[]>(`${simulator}/_received?channel=email&accepted=true`);
  const sentAt = new Map(received.map(({ target, at }) => [target, Date.parse(at)]));
  const waits = handedOver
    .map((at, i) => Math.max(0, (sentAt.get(`urgent.${i}@example.com`) ?? Number.NaN) - at) / 1000)
    .sort((a, b) => a - b);
  const times = receipts.map(({ at }) => Date.parse(at));
  const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
  return [
    {
      id: 'newsletter.rate_share',
      what: 'rate achieved of the rate allowed, 50,000 recipients',
      figure: (100 * receipts.length) / seconds / PER_SECOND,
      unit: '%',
      budget: { min: 95, max: 100 },
      note: `${POST_NOTE}, two batches at once, on the local runtime`,
      details: { 'recipients that got it': receipts.length, seconds },
    },
    {
      id: 'newsletter.refusals',
      what: 'calls that SES refused for its rate',
      figure: refused['rate'] ?? Number.NaN,
      unit: '',
      budget: { max: 0 },
    },
    {
      id: 'newsletter.urgent_p99',
      what: 'p99 of the time until an urgent mail is sent meanwhile',
      figure: waits.includes(Number.NaN) ? Number.NaN : (waits[Math.floor(waits.length * 0.99)] ?? Number.NaN),
      unit: 's',
      budget: { max: 2 },
      note: `from the API's answer to SES's: ${waits.length} mails, one each ${URGENT_EVERY_MS} ms`,
      details: { 'median, s': median(waits) },
    },
    {
      id: 'newsletter.rate_duplicates',
      what: 'recipients that got it twice, of 50,000',
      figure: duplicatesIn(receipts),
      unit: '',
      budget: { max: 0 },
    },
  ];
}
