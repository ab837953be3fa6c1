import { createServer } from 'node:http';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOutcomeBus } from '../../../src/adapters/eventbridge/outcome-bus.ts';
import type { Outcome } from '../../../src/core/outcomes/outcome.ts';

const asked: unknown[] = [];
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  asked.push(JSON.parse(Buffer.concat(chunks).toString()));
  // As EventBridge answers: an id, or a code, in the order of the entries.
  const Entries = [{ EventId: '1' }, { ErrorCode: 'ThrottlingException', ErrorMessage: 'slow down' }];
  response.setHeader('content-type', 'application/x-amz-json-1.1');
  response.end(JSON.stringify({ FailedEntryCount: 1, Entries }));
});
let client: EventBridgeClient;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const credentials = { accessKeyId: 'a', secretAccessKey: 's' };
  client = new EventBridgeClient({ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', credentials });
});
afterAll(() => void server.close());

it('puts each outcome as an entry of the bus, and says which of them were taken', async () => {
  const outcome = (log_id: string): Outcome => ({
    kind: 'Notification Delivered',
    detail: { version: 1, event_id: log_id, at: '2026-03-01T10:30:00.000Z', log_id },
  });
  const bus = createOutcomeBus(client, 'notification-retry-dev');
  expect(await bus.put([outcome('n1'), outcome('n2')])).toEqual([true, false]);
  const entry = (log_id: string) => ({
    EventBusName: 'notification-retry-dev',
    Source: 'notification-retry',
    DetailType: 'Notification Delivered',
    Detail: JSON.stringify(outcome(log_id).detail),
  });
  expect(asked).toEqual([{ Entries: [entry('n1'), entry('n2')] }]);
});
