import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { describe, expect, it } from 'vitest';
import {
  bindChannel,
  type ChannelPorts,
  gatheredBudgets,
} from '../../../../functions/shared/channel/channel-function.ts';
import { SendsUnderWay } from '../../../../src/adapters/batching/gather.ts';
import type { Returned } from '../../../../src/adapters/sqs/lanes.ts';
import { FUNCTION_MS } from '../../../../src/core/delivery/policy/attempt-times.ts';
import type { SendResult } from '../../../../src/core/delivery/ports.ts';
import type { NotificationRow } from '../../../../src/core/model/notification.ts';
import type { QueueMessage, ReceivedMessage } from '../../../../src/core/model/queue-message.ts';
import { fnv1a } from '../../../../src/core/model/work-index.ts';
import { ACCOUNT } from '../../../../src/core/pacing/admission.ts';
import type { AdmissionDeps } from '../../../../src/core/pacing/ports.ts';
import { VirtualTime } from '../../../../tools/simulation/engine/virtual-time.ts';
import { doneOf, eventOf } from '../../../../tools/simulation/models/event-source.ts';
import { MemoryBreakers, MemoryPacing } from '../../../../tools/simulation/twins/pipeline-state.ts';
import { SETTINGS, scheduleBy } from '../../../../tools/simulation/world/ports.ts';
import { ACCEPTED, refused, setUp } from '../../../support/delivering.ts';
import { pacerAt, receiversAt } from '../../../support/pacing.ts';
import { dueRow, iso, messageFor, T0 } from '../../../support/rows.ts';

const MINUTE = 60_000;
const SILENT = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };

interface Waiting {
  readonly message: QueueMessage;
  readonly id: string;
  readonly visible_at: number;
  readonly receives: number;
}

/** Five instances of a channel function on their lane, with real budgets. */
function laneWith({
  answer = () => ACCEPTED,
  receiver = ACCOUNT,
}: {
  readonly answer?: () => SendResult;
  readonly receiver?: AdmissionDeps['receiver'];
} = {}) {
  const time = new VirtualTime(T0);
  const sent: { log_id: string; at: number }[] = [];
  const limits = { per_second: 100, max_24h: 10_000, sent_24h: 8_600, sending: true, enforcement: 'HEALTHY' };
  const { store } = new MemoryPacing();
  const breakers = new MemoryBreakers();
  let queue: Waiting[] = [];
  let ids = 0;
  const queued = (message: QueueMessage, delay_seconds = 0) => {
    const visible_at = time.clock().getTime() + delay_seconds * 1_000;
    queue.push({ message, id: `m${++ids}`, visible_at, receives: 0 });
  };
  const { tables, deps, put } = setUp(
    ({ log_id }) => {
      sent.push({ log_id, at: time.clock().getTime() - T0.getTime() });
      return answer();
    },
    { clock: time.clock, pause: time.pause, retries: { send: async (...args) => queued(...args) } },
  );
  const giveBack = async (_: string, returned: readonly Returned[]) => {
    const now = time.clock().getTime();
    for (const { receipt_handle, after_seconds } of returned)
      queue = queue.map((one) =>
        one.id === receipt_handle ? { ...one, visible_at: now + after_seconds * 1_000 } : one,
      );
    return 0;
  };
  const instance = () => {
    const pacer = pacerAt(time.clock, { store, readLimits: async () => ({ ...limits, production: true }) });
    const receivers = receiversAt(time.clock, { store });
    const ports: ChannelPorts = {
      ...deps,
      giveBack,
      receiver,
      mayUse: async () => true,
      sends: new SendsUnderWay(),
      breakers: breakers.store,
      budgets: gatheredBudgets({ pacer, receivers }, { schedule: scheduleBy(time.pause) }),
      pause: time.pause,
    };
    return bindChannel(receiver === ACCOUNT ? 'email' : 'teams', SETTINGS, ports, SILENT);
  };
  const invoke = async (handler: ReturnType<typeof instance>, batch: readonly Waiting[]) => {
    const taken = batch.map((one) => ({ ...one, receives: one.receives + 1, visible_at: Number.POSITIVE_INFINITY }));
    queue = queue.map((one) => taken.find(({ id }) => id === one.id) ?? one);
    const given = taken.map(
      ({ message, id, receives }): ReceivedMessage => ({
        message,
        message_id: id,
        sent_at: time.clock(),
        receive_count: receives,
      }),
    );
    const answered = await handler(eventOf(given), { getRemainingTimeInMillis: () => FUNCTION_MS });
    const done = new Set(doneOf(given, answered).map(({ message_id }) => message_id));
    // SQS moves a letter to the dead-letter queue.
    queue = queue.filter(({ id, receives }) => !done.has(id) && receives < 5);
  };
  const instances = Array.from({ length: 5 }, instance);
  /** All receive batches of ten, until the time. */
  const run = (until_ms: number) => {
    const end = T0.getTime() + until_ms;
    const worker = async (handler: ReturnType<typeof instance>) => {
      while (time.clock().getTime() < end) {
        const batch = queue.filter(({ visible_at }) => visible_at <= time.clock().getTime()).slice(0, 10);
        if (batch.length > 0) await invoke(handler, batch);
        const next = Math.min(end, ...queue.map(({ visible_at }) => visible_at));
        await time.pause(batch.length > 0 ? 10 : Math.min(1_000, Math.max(10, next - time.clock().getTime())));
      }
    };
    return time.run(Promise.all(instances.map(worker)));
  };
  return { sent, put, queued, run, row: (log_id: string) => tables.row(log_id), waiting: () => queue };
}

const email = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id, channel: 'email', priority: 'info', ...changes });
const DEAD = {
  send_status: 'FAILED',
  failure_reason: 'MAX_RETRIES',
  attempts_left: 0,
  send_attempts: 4,
  work_queue: 'dead#info#0',
  dead_message_id: 'letter',
  dead_run_id: 'sweep-0',
  dead_sent_at: iso(-1_000),
} as const satisfies Partial<NotificationRow>;
const FORCED = { run_id: 'manual-2', options: { force: true } } as const;
const BY_NAME = { run_id: 'manual-2', options: { force: true, named: true } } as const;

describe('forced ones, where 8,600 of 10,000 a day are used, and info may use 8,000', () => {
  it.each([
    ['2,000 of a forced sweep', 2_000, FORCED],
    ['300 by name', 300, BY_NAME],
  ])('%s wait in their lane, waiting or dead, and urgent ones are sent', async (_, count, asked) => {
    const { put, queued, run, sent, row, waiting } = laneWith();
    // The first e-mail reads what SES allows.
    queued(messageFor(put(email('u', { priority: 'urgent' }))));
    await run(5_000);
    for (let i = 0; i < count; i++) queued(messageFor(put(email(`n${i}`, i % 2 === 0 ? {} : DEAD)), asked));
    for (let i = 0; i < 20; i++) queued(messageFor(put(email(`u${i}`, { priority: 'urgent' }))));
    await run(20 * MINUTE);
    expect(new Set(sent.map(({ log_id }) => log_id.charAt(0)))).toEqual(new Set(['u']));
    expect(sent).toHaveLength(21);
    expect(Math.max(...sent.map(({ at }) => at))).toBeLessThan(MINUTE);
    expect(waiting()).toHaveLength(count);
    // None was claimed, and none died again.
    expect([row('n0')?.last_attempt, row('n1')]).toEqual([0, expect.objectContaining(DEAD)]);
    expect(row('n1')?.last_attempt).toBe(0);
  });
});

describe('forced ones at a receiver of 4/s', () => {
  it.each([
    ['waiting', {}],
    ['dead', { ...DEAD, work_queue: 'dead#urgent#0' }],
  ])('are sent at that rate, each once, when they are %s', async (_, changes) => {
    const { put, queued, run, sent, row } = laneWith({ receiver: async () => ({ key: 'flow', per_second: 4 }) });
    const all = Array.from({ length: 100 }, (_, i) =>
      put(dueRow({ log_id: `n${i}`, channel: 'teams', priority: 'urgent', ...changes })),
    );
    for (const one of all) queued(messageFor(one, FORCED));
    await run(2 * MINUTE);
    expect(sent).toHaveLength(100);
    expect(all.map(({ log_id }) => row(log_id)?.send_status)).toEqual(Array(100).fill('SUCCESS'));
    for (let i = 0; i + 8 < sent.length; i++)
      expect((sent[i + 8]?.at ?? 0) - (sent[i]?.at ?? 0)).toBeGreaterThan(1_000);
    expect(sent.at(-1)?.at).toBeLessThan(40_000);
  });
});

it('100 forced ones of a tenant leave others a place within ten seconds at a receiver that they share', async () => {
  const { put, queued, run, sent } = laneWith({
    receiver: async ({ tenant_id }) => ({ key: 'IC1', per_second: 4, tenant: fnv1a(tenant_id).toString(16) }),
  });
  const teams = (log_id: string, tenant_id: string) =>
    messageFor(put(dueRow({ log_id, tenant_id, channel: 'teams', priority: 'urgent' })), FORCED);
  for (let i = 0; i < 100; i++) queued(teams(`n${i}`, 'tenant-1'));
  await run(2_000);
  queued(teams('other', 'tenant-2'));
  await run(2 * MINUTE);
  expect(sent).toHaveLength(101);
  expect(sent.find(({ log_id }) => log_id === 'other')?.at).toBeLessThan(12_000);
  expect(sent.at(-1)?.at).toBeGreaterThan(20_000);
});

describe('300 forced ones to a provider that is down', () => {
  const setUpDown = () => {
    let isUp = false;
    const lane = laneWith({
      answer: () => (isUp ? ACCEPTED : refused('SERVER_OVERLOAD', { response_code: '503' })),
      receiver: async () => undefined,
    });
    const webhook = (log_id: string, changes: Partial<NotificationRow> = {}) =>
      lane.put(dueRow({ log_id, priority: 'urgent', integration_config_id: 'IC1', ...changes }));
    for (let i = 0; i < 10; i++) lane.queued(messageFor(webhook(`first${i}`)));
    return { ...lane, webhook, comesBack: () => (isUp = true) };
  };

  it.each([
    ['of a forced sweep, dead ones', FORCED, { ...DEAD, work_queue: 'dead#urgent#0' }, 20],
    ['by name', BY_NAME, {}, 110],
  ])('%s probe it, and are sent when it is back', async (_, asked, changes, most) => {
    const { webhook, queued, run, sent, row, comesBack } = setUpDown();
    await run(10_000);
    const before = sent.length;
    const ids = Array.from({ length: 300 }, (_, i) => `n${i}`);
    for (const log_id of ids) queued(messageFor(webhook(log_id, changes), asked));
    await run(10 * MINUTE);
    const probes = sent.length - before;
    expect(probes).toBeGreaterThan(2);
    expect(probes).toBeLessThan(most);
    const unsent = ids.filter((log_id) => sent.every((one) => one.log_id !== log_id));
    for (const log_id of unsent)
      expect(row(log_id)).toMatchObject('failure_reason' in changes ? changes : { send_status: 'RETRY' });
    comesBack();
    await run(60 * MINUTE);
    expect(unsent.filter((log_id) => row(log_id)?.send_status !== 'SUCCESS')).toEqual([]);
  });
});
