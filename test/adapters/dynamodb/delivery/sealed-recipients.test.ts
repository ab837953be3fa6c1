import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createContentStore } from '../../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createIndexStore } from '../../../../src/adapters/dynamodb/indexing/index-store.ts';
import { createKmsKeyWrap } from '../../../../src/adapters/kms/kms-key-wrap.ts';
import { createDataKeyStore } from '../../../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer } from '../../../../src/adapters/sealing/sealer.ts';
import { send } from '../../../../src/core/delivery/conduct-attempt.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { KEY_ARN, startKms } from '../../../support/kms.ts';
import { CONTENT, dueRow, iso, T0 } from '../../../support/rows.ts';
import { createTables, type TableNames } from '../../../support/tables.ts';

let dynamodb: TestDynamoDb;
let kms: Awaited<ReturnType<typeof startKms>>;
let tables: TableNames;
beforeAll(async () => {
  [dynamodb, kms] = await Promise.all([startTestDynamoDb(), startKms()]);
  tables = await createTables(dynamodb.client, 'sealed');
}, 60_000);
afterAll(async () => {
  await dynamodb?.stop();
  await kms?.close();
});

function instance() {
  const { client } = dynamodb;
  const store = createDataKeyStore(client, tables.data_keys);
  const sealer = createSealer(
    createDataKeys({ store, wrap: createKmsKeyWrap(kms.client, KEY_ARN), clock: () => new Date(T0) }),
  );
  return {
    index: createIndexStore({ client, tables, sealer, hashKey: async () => 'key' }),
    contents: createContentStore(client, tables.notification_content, sealer),
  };
}

/** Content as the indexer stores it. */
async function stored(log_id: string, tenant_id = log_id): Promise<{ log_id: string; tenant_id: string }> {
  await instance().index.putContent({ log_id, tenant_id, expires_at: 4_000_000_000, sequence: '1' }, CONTENT);
  return { log_id, tenant_id };
}

/** One attempt by a fresh instance, whose provider accepts everything. */
const attempt = (owner: { log_id: string; tenant_id: string }, { contents } = instance()) =>
  send(dueRow(owner), T0, {
    contents,
    sender: { send: async () => ({ ok: true, response_code: '200' }) },
    inSendTime: (send) => send(new AbortController().signal),
  });

const keyOf = (log_id: string) => ({ TableName: tables.notification_content, Key: { log_id: { S: log_id } } });

async function recipientOf(log_id: string): Promise<string> {
  const { Item } = await dynamodb.client.send(new GetItemCommand(keyOf(log_id)));
  return Item?.['encrypted_recipient']?.S ?? '';
}

async function setRecipient(log_id: string, to: AttributeValue): Promise<void> {
  const update: UpdateItemCommandInput = {
    ...keyOf(log_id),
    UpdateExpression: 'SET encrypted_recipient = :to',
    ExpressionAttributeValues: { ':to': to },
  };
  await dynamodb.client.send(new UpdateItemCommand(update));
}

it.each<[string, (log_id: string, tenant_id: string) => Promise<void>, RegExp]>([
  [
    "another row's, of the same tenant",
    async (log_id, tenant_id) => {
      const other = await stored(`${log_id}-other`, tenant_id);
      await setRecipient(log_id, { S: await recipientOf(other.log_id) });
    },
    /belongs to another tenant, purpose or id/,
  ],
  [
    'altered',
    async (log_id) => {
      const [header, , nonce, text, tag = ''] = (await recipientOf(log_id)).split('.');
      const turned = `${tag.startsWith('A') ? 'B' : 'A'}${tag.slice(1)}`;
      await setRecipient(log_id, { S: [header, '', nonce, text, turned].join('.') });
    },
    /was altered/,
  ],
  ['replaced by a text', (log_id) => setRecipient(log_id, { S: 'someone@your-domain.example' }), /is no JWE/],
  ['replaced by bytes', (log_id) => setRecipient(log_id, { B: Uint8Array.of(1, 2) }), /has no recipient/],
  [
    'of a tenant whose data keys were deleted',
    async (_, tenant_id) => {
      const Key = { tenant_id: { S: tenant_id }, key_id: { S: `recipient#${iso().slice(0, 7)}` } };
      await dynamodb.client.send(new DeleteItemCommand({ TableName: tables.data_keys, Key }));
    },
    /data key that does not exist any more/,
  ],
])('an attempt whose recipient can never be opened is FORMAT_ERROR %s', async (name, damage, why) => {
  const owner = await stored(`broken-${name.replaceAll(/\W/g, '')}`.slice(0, 40));
  expect(await attempt(owner)).toMatchObject({ ok: true });
  await damage(owner.log_id, owner.tenant_id);
  const result = await attempt(owner);
  expect(result).toMatchObject({ ok: false, error_type: 'FORMAT_ERROR', message: expect.stringMatching(why) });
  expect(JSON.stringify(result)).not.toContain('your-domain');
});

it.each([
  'ThrottlingException',
  'KMSInternalException',
  'DependencyTimeoutException',
  // An operator can enable the key, cancel its deletion or grant the right until the deadline.
  'DisabledException',
  'KMSInvalidStateException',
  'AccessDeniedException',
])('an attempt that finds KMS refusing is not counted, and the next one is sent %s', async (code) => {
  const owner = await stored(`kms-${code}`);
  const reader = instance();
  kms.refuse(code);
  expect(await attempt(owner, reader)).toMatchObject({ ok: false, error_type: 'UNKNOWN', counted: false });
  expect(await attempt(owner, reader)).toMatchObject({ ok: true });
});

it('storage has no recipient in the table of keys, and no key that anyone but KMS could use', async () => {
  const owner = await stored('keys');
  const Key = { tenant_id: { S: owner.tenant_id }, key_id: { S: `recipient#${iso().slice(0, 7)}` } };
  const { Item = {} } = await dynamodb.client.send(new GetItemCommand({ TableName: tables.data_keys, Key }));
  expect(Object.keys(Item).sort()).toEqual(['created_at', 'key_id', 'tenant_id', 'wrapped_key']);
  expect(Item['wrapped_key']?.B?.length).toBeGreaterThan(32);
});
