import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDynamoDb, createSqs } from '../../functions/shared/bindings.ts';
import { type Loopback, replying, startLoopback } from '../adapters/http/loopback.ts';

const realTimeout = setTimeout;
/** Lets real sockets work for a moment; the clients' own timers stand still. */
const moment = () => new Promise((resolve) => realTimeout(resolve, 5));

describe.each([
  ['DynamoDB', () => createDynamoDb(), new ListTablesCommand(), '{"TableNames":[]}'],
  ['SQS', () => createSqs(), new ListQueuesCommand(), '{"QueueUrls":[]}'],
] as const)('the client for %s', (_, create, command, answer) => {
  let server: Loopback;

  beforeEach(async () => {
    server = await startLoopback();
    vi.stubEnv('AWS_ENDPOINT_URL', server.url);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  });
  afterEach(async () => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
    await server.close();
  });

  const reply = replying(200, answer, { 'content-type': 'application/x-amz-json-1.0' });
  it('asks again when a connection never answers, after five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    server.answer = (response, request) => server.received.length > 1 && reply(response, request);
    const client = create();
    let status: number | undefined;
    // Each command has its own client; the union of both is more than TypeScript can follow.
    const sending = (client as { send(sent: unknown): Promise<{ $metadata: { httpStatusCode?: number } }> })
      .send(command)
      .then(({ $metadata }) => {
        status = $metadata.httpStatusCode;
      });
    for (let waits = 0; waits < 200 && server.received.length === 0; waits++) await moment();
    await vi.advanceTimersByTimeAsync(4_500);
    await moment();
    expect(server.received).toHaveLength(1);

    for (let waits = 0; waits < 200 && status === undefined; waits++) {
      await vi.advanceTimersByTimeAsync(100);
      await moment();
    }
    await sending;
    expect(status).toBe(200);
    expect(server.received).toHaveLength(2);
    client.destroy();
  });
});
