import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createRecordStore } from '../../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { RECORD_CALL_MS } from '../../../../src/core/delivery/policy/attempt-times.ts';
import { retryRecord } from '../../../support/delivering.ts';

it('keeps what DynamoDB has written of a batch when it fails to answer for the rest', async () => {
  let calls = 0;
  const client = {
    async send() {
      calls += 1;
      if (calls > 1) throw new Error('no answer');
      return { Responses: [{}, { Error: { Code: 'ThrottlingError' } }] };
    },
  };
  const records = createRecordStore(client as never, 'retry_log');
  const puts = ['a', 'b'].map((retry_log_id) => records.putIfAbsent(retryRecord({ retry_log_id })));
  expect(await Promise.allSettled(puts)).toMatchObject([{ value: true }, { reason: { message: 'no answer' } }]);
});

describe('a RetryLog that takes calls and does not answer', () => {
  let server: Server;
  let client: DynamoDBClient;
  let asked = Promise.withResolvers<void>();

  beforeAll(async () => {
    server = createServer(() => asked.resolve());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = new DynamoDBClient({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
  });
  afterAll(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });

  it.each(['putIfAbsent', 'replace', 'find'] as const)('lets %s fail within seconds', async (method) => {
    const records = createRecordStore(client, 'retry_log');
    const record = retryRecord({});
    asked = Promise.withResolvers();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const call = method === 'find' ? records.find('log-1', 1) : records[method](record, record);
      const failed = expect(call).rejects.toMatchObject({
        name: 'TimeoutError',
        message: 'RetryLog has not answered within 3 seconds.',
      });
      await vi.advanceTimersByTimeAsync(10);
      await asked.promise;
      await vi.advanceTimersByTimeAsync(RECORD_CALL_MS);
      await failed;
    } finally {
      vi.useRealTimers();
    }
  });
});
