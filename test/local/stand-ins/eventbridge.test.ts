import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventBridgeStandIn } from '../../../src/local/stand-ins/eventbridge.ts';
import { scratch } from '../../support/local/tiny-app.ts';

let directory: ReturnType<typeof scratch>;
beforeEach(() => {
  directory = scratch();
});
afterEach(() => directory.remove());

const entry = (change: object = {}) => ({
  EventBusName: 'arn:aws:events:us-east-1:000000000000:event-bus/told',
  Source: 's',
  DetailType: 'T',
  Detail: '{"a":1}',
  ...change,
});
const put = (bus: EventBridgeStandIn, ...Entries: object[]) =>
  bus.answer('AWSEvents.PutEvents', JSON.stringify({ Entries }));

it('keeps what is put, gives it to the rules of its bus, and lists it after a restart', () => {
  const file = join(directory.path, 'data', 'outcomes.jsonl');
  const published: unknown[] = [];
  const bus = new EventBridgeStandIn(async (event, name) => void published.push([event['detail-type'], name]), file);
  expect(put(bus, entry(), entry({ EventBusName: undefined, Detail: '[]' }))).toMatchObject({
    status: 200,
    value: { FailedEntryCount: 1, Entries: [{ EventId: expect.any(String) }, { ErrorCode: 'MalformedDetail' }] },
  });
  put(bus, entry({ EventBusName: undefined }));
  expect(published).toEqual([
    ['T', 'told'],
    ['T', undefined],
  ]);
  const event = { source: 's', 'detail-type': 'T', detail: { a: 1 }, version: '0', resources: [] };
  expect(new EventBridgeStandIn(async () => {}, file).list()).toMatchObject([event, event]);
});

it.each([
  ['more than ten entries', Array.from({ length: 11 }, () => entry()), /at most 10/],
  ['no entry', [], /Entries/],
  ['more than 256 KB', [entry({ Detail: JSON.stringify('x'.repeat(262_144)) })], /too large/],
  ['an entry without a source', [entry({ Source: '' })], /Source|length/],
])('refuses %s, as EventBridge does', (_, entries, message) => {
  const { status, value } = put(new EventBridgeStandIn(async () => {}), ...entries);
  expect(status).toBe(400);
  expect(JSON.stringify(value)).toMatch(message);
});

it('names a call that it has no answer for', () => {
  expect(new EventBridgeStandIn(async () => {}).answer('AWSEvents.PutRule', '{}').status).toBe(501);
});
