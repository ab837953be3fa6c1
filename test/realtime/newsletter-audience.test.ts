import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, it } from 'vitest';
import { memberItem } from '../../src/adapters/dynamodb/newsletter/member-items.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import { memberSealing } from '../../tools/bench/setup/newsletter.ts';
import { importItems } from '../../tools/bench/setup/rows.ts';
import { Flow } from '../support/flow/harness.ts';
import { readReceipts } from '../support/newsletter/flow/mail-receipts.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';

/** `NEWSLETTER_AUDIENCE=1000000` is the run whose figures docs/newsletters.md has: a twentieth of them gets the mail. */
const MEMBERS = Number(process.env['NEWSLETTER_AUDIENCE'] ?? 20_000);
const EVERY = 20;
const RECIPIENTS = MEMBERS / EVERY;
const RATE = 500;

const flow = new Flow();
const client = new NewsletterClient(flow);
const dataDir = `${flow.directory}/data`;
const WITHIN_MS = 240_000 + MEMBERS * 2;

afterAll(() => flow.end(), 60_000);

/** The runtime's DynamoDB. */
function stand(): DynamoDBClient {
  const { endpoints, region } = flow.endpoints;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new DynamoDBClient({ endpoint: endpoints.dynamodb, region, credentials });
}

/** What the runtime calls its tables, and how it makes that of members. */
async function tableOfMembers() {
  await flow.start();
  const { tables } = flow.endpoints;
  const dynamodb = stand();
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: tables.members }));
  dynamodb.destroy();
  await flow.stop();
  return { ...Table, TableName: tables.members };
}

/**
 * Members as an import leaves them but for their pointers, which no mailing reads, in the file of a runtime that has not
 * started: over HTTP a million would take a quarter of an hour.
 * @returns what stores the data keys that they are sealed with
 */
async function seed() {
  const secretsFile = `${dataDir}/secrets.json`;
  prepareSecrets(secretsFile, 'http://127.0.0.1');
  const { sealing, storeKeys } = memberSealing(secretsFile);
  const at = new Date().toISOString();
  async function* items() {
    for (let n = 0; n < MEMBERS; n++) {
      const gets = n % EVERY === 0;
      const member = { tenant_id: 'T951', member_id: `m-${n}`, member_uuid: `u-${n}`, newsletters: ['weekly'] };
      const email = `reader${n}@example.com`;
      yield memberItem(
        {
          ...member,
          status: gets ? 'paid' : 'free',
          labels: [],
          created_at: at,
          updated_at: at,
          // Nobody opens the others: that the segment leaves them out costs no decryption.
          email_hash: gets ? await sealing.emailHash(member.tenant_id, email) : randomBytes(16).toString('base64url'),
          sealed_identity: gets ? await sealing.sealMember(member.tenant_id, member.member_id, { email }) : 'sealed',
        },
        1,
      );
    }
  }
  await importItems(dataDir, await tableOfMembers(), items());
  return async () => {
    const dynamodb = stand();
    await storeKeys(dynamodb, flow.endpoints.tables.data_keys);
    dynamodb.destroy();
  };
}

it(
  `${RECIPIENTS} of ${MEMBERS} members get one mail each, at 95 % of the rate at least`,
  async () => {
    const seeding = Date.now();
    const storeKeys = await seed();
    await flow.start({ dataDir, sesLimits: { per_second: RATE } });
    await storeKeys();
    await client.setUpNewsletter();
    const began = Date.now();
    const id = await client.publish({ subject: 'Paid', body: '<p>News.</p>', format: 'html', segment: 'status:paid' });
    let prepared: number | undefined;
    let status = await client.status(id);
    while (status.status !== 'submitted' && status.status !== 'failed' && Date.now() - began < WITHIN_MS) {
      if (prepared === undefined && status.counts.submitted > 0) prepared = Date.now();
      await setTimeout(1_000);
      status = await client.status(id);
    }
    const ended = Date.now();
    const receipts = await readReceipts(dataDir);
    const seconds = (from: number, to = ended) => Math.round((to - from) / 1000);
    const per_second = RECIPIENTS / Math.max(1, (ended - (prepared ?? began)) / 1000);
    const took = {
      seed_s: seconds(seeding, began),
      prepare_s: seconds(began, prepared),
      send_s: seconds(prepared ?? began),
    };
    console.log(JSON.stringify({ MEMBERS, RECIPIENTS, ...took, per_second, counts: status.counts }));
    expect(status).toMatchObject({ status: 'submitted', counts: { recipients: RECIPIENTS, submitted: RECIPIENTS } });
    expect(new Set(receipts.map(({ to }) => to)).size).toBe(RECIPIENTS);
    expect(receipts).toHaveLength(RECIPIENTS);
    // The poll of a second weighs on a small audience.
    if (RECIPIENTS >= 20_000) expect(per_second).toBeGreaterThanOrEqual(0.95 * RATE);
  },
  WITHIN_MS + 240_000 + MEMBERS,
);
