import { BatchGetItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRequestSigner } from '../../../src/adapters/direct-calls/sigv4.ts';
import { type Loopback, type Received, replying, startLoopback } from '../../support/loopback.ts';

let server: Loopback;
beforeEach(async () => {
  server = await startLoopback();
  server.answer = replying(200, '{}', { 'content-type': 'application/x-amz-json-1.0' });
});
afterEach(() => server.close());

describe('a signature', () => {
  const day = Date.UTC(2026, 10, 22, 23, 59, 59);
  it.each([
    ['of short-lived credentials', { accessKeyId: 'ASIA1', secretAccessKey: 's/+=', sessionToken: 'tok+/=' }, 'NL-1'],
    ['of long-lived credentials', { accessKeyId: 'AKIA1', secretAccessKey: 's' }, 'NL-1'],
    ['of text outside ASCII', { accessKeyId: 'AKIA1', secretAccessKey: 's' }, '山田 😀 "'],
  ])("%s is the SDK's, also on the next day", async (_, credentials, log_id) => {
    const region = 'ap-northeast-1';
    const signer = createRequestSigner({ region, service: 'dynamodb' });
    for (const offset of [0, 2_000, 86_400_000]) {
      const systemClockOffset = day + offset - Date.now();
      const client = new DynamoDBClient({ endpoint: server.url, region, credentials, systemClockOffset });
      await client.send(new BatchGetItemCommand({ RequestItems: { t: { Keys: [{ log_id: { S: log_id } }] } } }));
      client.destroy();
      const { headers, body } = server.received.splice(0)[0] as Received;
      const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
      const given = names.split(';').filter((name) => name !== 'x-amz-date' && name !== 'x-amz-security-token');
      const at = new Date(String(headers['x-amz-date']).replace(/(....)(..)(..T..)(..)(..)/, '$1-$2-$3:$4:$5'));
      const signed = signer.sign(
        { path: '/', headers: Object.fromEntries(given.map((name) => [name, String(headers[name])])), body },
        credentials,
        at,
      );
      expect(signed['authorization']).toBe(headers.authorization);
      expect(signed['x-amz-date']).toBe(headers['x-amz-date']);
    }
  });
});
