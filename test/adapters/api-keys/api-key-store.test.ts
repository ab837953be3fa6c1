import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKeyStore } from '../../../src/adapters/api-keys/api-key.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

let server: Loopback;
beforeAll(async () => {
  server = await startLoopback();
});
afterAll(() => server.close());

it('reads a key as it is now, so that one which was made a moment ago is found', async () => {
  server.answer = replying(200, '{"ConsumedCapacity":{}}', { 'content-type': 'application/x-amz-json-1.0' });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new DynamoDBClient({ endpoint: server.url, region: 'us-east-1', credentials });
  expect(await createApiKeyStore(client, 'keys').get('0011')).toBeUndefined();
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({ ConsistentRead: true });
  client.destroy();
});
