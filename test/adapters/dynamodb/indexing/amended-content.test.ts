import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createIndexStore } from '../../../../src/adapters/dynamodb/indexing/index-store.ts';
import { createForgetStore } from '../../../../src/adapters/dynamodb/operator/forget-store.ts';
import type { Sealer } from '../../../../src/adapters/sealing/sealer.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { CONTENT } from '../../../support/rows.ts';
import { sealerOn } from '../../../support/sealer.ts';
import { createTables, type TableNames } from '../../../support/tables.ts';

let dynamodb: TestDynamoDb;
let tables: TableNames;
let sealer: Sealer;
beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  tables = await createTables(dynamodb.client, 'amended');
  sealer = sealerOn(dynamodb.client, tables);
}, 60_000);
afterAll(() => dynamodb?.stop());

const tenant_id = 't';
const FALLBACK = 'ann@example.com';
const WHOLE = { ...CONTENT, fallback: { recipient: FALLBACK } };
const keyOf = (log_id: string) => ({ TableName: tables.notification_content, Key: { log_id: { S: log_id } } });
const stored = async (log_id: string) => (await dynamodb.client.send(new GetItemCommand(keyOf(log_id)))).Item;

function change(log_id: string, name: string, to: string) {
  const update = { UpdateExpression: `SET ${name} = :to`, ExpressionAttributeValues: { ':to': { S: to } } };
  return dynamodb.client.send(new UpdateItemCommand({ ...keyOf(log_id), ...update }));
}

/** The image's put, with what others do between its read and its write: what is stored is sealed anew there. */
async function put(
  log_id: string,
  sequence: string,
  given: object,
  meanwhile: () => Promise<unknown> = async () => {},
) {
  const { client } = dynamodb;
  let left = 1;
  const open: Sealer['open'] = async (...sealed) => {
    if (left-- > 0) await meanwhile();
    return sealer.open(...sealed);
  };
  const store = createIndexStore({ client, tables, sealer: { ...sealer, open }, hashKey: async () => 'key' });
  const owner = { log_id, tenant_id, expires_at: 4_000_000_000, sequence };
  return store.putContent({ ...owner, ...(sequence !== '1' && { amends: true }) }, given);
}

function forgetting() {
  const { client } = dynamodb;
  const whose = { tenant_id, hashes: ['none'], isTheirs: (recipient: string) => recipient === FALLBACK };
  return createForgetStore({ client, tables, sealer, clock: () => new Date(), ...whose });
}

it('an image that amends a content brings back no fallback recipient that was erased since it was read', async () => {
  await put('a', '1', WHOLE);
  await put('a', '2', { subject: 'amended' }, () => forgetting().eraseFallback('a'));
  const item = await stored('a');
  expect(item).toMatchObject({ subject: { S: 'amended' }, image_sequence: { N: '2' } });
  expect(item).not.toHaveProperty('encrypted_fallback_recipient');
});

it('keeps what another image has amended since it was read, and its own part', async () => {
  await put('b', '1', WHOLE);
  await put('b', '3', { subject: 'third' }, () => put('b', '2', { body: 'second' }));
  expect(await stored('b')).toMatchObject({ subject: { S: 'third' }, message_body: { S: 'second' } });
});

it('amends nothing that was erased, or deleted, since it was read', async () => {
  await put('c', '1', WHOLE);
  const erase = () => forgetting().erasable.eraseContent({ log_id: 'c', tenant_id });
  await expect(put('c', '2', { subject: 'x' }, erase)).rejects.toMatchObject({ name: 'ErasedError' });
  expect(await stored('c')).not.toHaveProperty('subject');
});

it('gives up, to be called again, where others keep changing it', async () => {
  await put('d', '1', WHOLE);
  let n = 0;
  const { client } = dynamodb;
  const open: Sealer['open'] = async (...sealed) => {
    await change('d', 'corrected_at', String(++n));
    return sealer.open(...sealed);
  };
  const store = createIndexStore({ client, tables, sealer: { ...sealer, open }, hashKey: async () => 'key' });
  const owner = { log_id: 'd', tenant_id, expires_at: 4_000_000_000, sequence: '2', amends: true as const };
  await expect(store.putContent(owner, { subject: 'x' })).rejects.toThrow('kept changing');
  expect(n).toBe(3);
});

it('masks addresses in what its writer, and its request, had said of the recipient of before', async () => {
  const said = `no ${CONTENT.recipient}`;
  await put('e', '1', { ...CONTENT, response_message: said, error_details: `{"to":"${FALLBACK}"}` });
  const failed_attempt = { error_type: 'UNKNOWN', response_message: said };
  const asked = { channel: 'email', notification_id: FALLBACK, failed_attempt };
  await change('e', 'accepted_request', JSON.stringify(asked));
  await put('e', '2', { subject: 'x' });
  expect(await stored('e')).toMatchObject({
    response_message: { S: said },
    accepted_request: { S: JSON.stringify(asked) },
  });
  await put('e', '3', { recipient: 'https://other.example.com' });
  const masked = { ...asked, failed_attempt: { ...failed_attempt, response_message: 'no …' } };
  expect(await stored('e')).toMatchObject({
    response_message: { S: 'no …' },
    error_details: { S: '{"to":"…"}' },
    accepted_request: { S: JSON.stringify(masked) },
  });
});
