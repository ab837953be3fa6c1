import type { Logger } from '@aws-lambda-powertools/logger';
import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ApiEvent, createApi, type ServedRoute } from '../../../../functions/shared/api/api-function.ts';
import { bindApi } from '../../../../functions/shared/api/bind-api.ts';
import { createApiDynamoDb } from '../../../../functions/shared/runtime/clients/api-dynamodb.ts';
import { createDynamoDb } from '../../../../functions/shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../../../../functions/shared/runtime/clients/sqs.ts';
import { ANSWER_MS } from '../../../../src/http/kernel.ts';
import { type Loopback, replying, startLoopback } from '../../../support/loopback.ts';
import { dueRow, messageFor } from '../../../support/rows.ts';

const realTimeout = setTimeout;
/** Lets real sockets work for a moment; the clients' own timers stand still. */
const moment = () => new Promise((resolve) => realTimeout(resolve, 5));

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

describe.each([
  ['DynamoDB', () => createDynamoDb(), new ListTablesCommand(), '{"TableNames":[]}', 5_000],
  ['DynamoDB of the API', () => createApiDynamoDb(), new ListTablesCommand(), '{"TableNames":[]}', 2_000],
  ['SQS', () => createSqs(), new ListQueuesCommand(), '{"QueueUrls":[]}', 5_000],
] as const)('the client for %s', (_, create, command, answer, limit) => {
  const reply = replying(200, answer, { 'content-type': 'application/x-amz-json-1.0' });
  it(`asks again when a connection never answers, after ${limit} ms`, async () => {
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
    await vi.advanceTimersByTimeAsync(limit - 500);
    await moment();
    expect(server.received).toHaveLength(1);

    // Over the limit and the SDK's pause, and then hardly on: sockets need real time.
    await vi.advanceTimersByTimeAsync(1_000);
    for (let waits = 0; waits < 400 && status === undefined; waits++) {
      await vi.advanceTimersByTimeAsync(2);
      await moment();
    }
    expect(status).toBe(200);
    await sending;
    expect(server.received).toHaveLength(2);
    client.destroy();
  });
});

describe('an API request', () => {
  it('whose messages SQS keeps waiting gives them back within two seconds, to be answered without them', async () => {
    server.answer = () => {};
    const lane = { express: `${server.url}/q`, standard: `${server.url}/q` };
    const tables = { NOTIFICATION_RETRY_LOG_TABLE: 'records', PIPELINE_STATE_TABLE: 'state' };
    const { send } = bindApi({ ...tables, LANE_QUEUES: { email: lane, slack: lane, teams: lane, webhook: lane } });
    const outgoing = Array.from({ length: 11 }, (_, i) => ({
      message: messageFor(dueRow({ log_id: `log-${i}` })),
      delay_seconds: 0,
    }));
    const started = performance.now();
    expect(new Set(await send(outgoing))).toEqual(new Set(outgoing));
    expect(performance.now() - started).toBeLessThan(3_500);
    expect(server.received.length).toBeGreaterThan(2);
  });

  it('that storage keeps waiting is told to come back before the function ends', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const logger = { error: vi.fn(), info: vi.fn() } as unknown as Logger;
    const deps = { clock: () => new Date(), counts: { add: async () => 0 } };
    const hanging: ServedRoute = {
      key: 'GET /',
      summary: 'Never answers',
      scope: 'none',
      answer: { status: 200, description: 'None' },
      handle: () => new Promise(() => {}),
    };
    const api = createApi([hanging], deps, { logger });
    const event = { routeKey: 'GET /', rawPath: '/', rawQueryString: '', headers: {}, requestContext: { http: {} } };
    const asked = api(event as ApiEvent);
    await vi.advanceTimersByTimeAsync(ANSWER_MS);
    expect(await asked).toMatchObject({ statusCode: 503, headers: { 'retry-after': '2' } });
    expect(logger.error).toHaveBeenCalledOnce();
  });
});
