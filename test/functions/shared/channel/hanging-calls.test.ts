import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  bindChannel,
  type ChannelPorts,
  createHandler,
} from '../../../../functions/shared/channel/channel-function.ts';
import { stateOnAws } from '../../../../functions/shared/channel/channel-on-aws.ts';
import { createLaneAccess } from '../../../../functions/shared/channel/lane-access.ts';
import { createPacer } from '../../../../functions/shared/runtime/pacer.ts';
import { SendsUnderWay } from '../../../../src/adapters/batching/gather.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../../src/core/breaker/breaker-policy.ts';
import { FUNCTION_MS, QUEUE_CALL_MS, STATE_CALL_MS } from '../../../../src/core/delivery/policy/attempt-times.ts';
import { PASS_THROUGH, type ProviderGate } from '../../../../src/core/delivery/ports.ts';
import type { Channel } from '../../../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { ACCOUNT } from '../../../../src/core/pacing/admission.ts';
import { DEFAULT_PACING_POLICY } from '../../../../src/core/pacing/pacing-policy.ts';
import { MemoryTables } from '../../../../tools/simulation/twins/memory-tables.ts';
import { unpaced } from '../../../support/pacing.ts';
import { CONTENT, dueRow, messageFor, T0 } from '../../../support/rows.ts';

const OBSERVABILITY = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };
const ENV = { PIPELINE_STATE_TABLE: 'state', PACING: { ...DEFAULT_PACING_POLICY, workers: 1 } };
const SETTINGS = {
  policy: DEFAULT_RETRY_POLICY,
  breaker: DEFAULT_BREAKER_POLICY,
  send_ms: 20_000,
  claim_ms: 65_000,
  queues: { express: 'https://sqs/express', standard: 'https://sqs/standard' },
};
const FAKED = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date'] as const;
/** The SDK gives a call up after five tries of five seconds. */
const SDK_MS = 25_000;

const inMs = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A channel function whose clock is the faked one. @param gate in place of the deployed one, whose state does not answer */
function channelFunction(channel: Channel, gate?: ProviderGate, claims: { hang_ms: number } = { hang_ms: 0 }) {
  const clock = () => new Date();
  const tables = new MemoryTables(clock);
  const sent: number[] = [];
  const began = Date.now();
  const ports = {
    giveBack: async () => 0,
    rows: {
      ...tables.rows,
      claim: async (...args: Parameters<typeof tables.rows.claim>) => {
        await inMs(claims.hang_ms);
        return tables.rows.claim(...args);
      },
    },
    records: tables.records,
    contents: tables.contents,
    sender: {
      async send() {
        sent.push(Date.now() - began);
        return { ok: true, response_code: '200' } as const;
      },
    },
    successors: tables.successors,
    retries: { send: async () => {} },
    clock,
    random: () => 0,
    inSendTime: <T>(send: (signal: AbortSignal) => Promise<T>) => send(new AbortController().signal),
    pause: inMs,
  };
  const handler =
    gate === undefined
      ? bindChannel(channel, SETTINGS, { ...ports, ...silentState(channel) }, OBSERVABILITY)
      : createHandler(
          { ...SETTINGS, ...ports, admission: unpaced(gate), deliver: { ...SETTINGS, ...ports } },
          OBSERVABILITY,
        );
  const give = (count: number): SQSEvent => ({
    Records: Array.from({ length: count }, (_, i) => {
      const row = dueRow({ log_id: `log-${i}`, channel, recipient_hash: `hash-${i}` });
      tables.log.set(row.log_id, { ...row });
      tables.content.set(row.log_id, { ...CONTENT, tenant_id: row.tenant_id });
      return {
        messageId: `message-${i}`,
        receiptHandle: `handle-${i}`,
        body: JSON.stringify(messageFor(row)),
        attributes: { SentTimestamp: String(T0.getTime()), ApproximateReceiveCount: '1' },
        eventSourceARN: 'arn:aws:sqs:us-east-1:1:standard',
      } as SQSEvent['Records'][number];
    }),
  });
  const run = async (event: SQSEvent) => {
    const ends = Date.now() + FUNCTION_MS;
    const running = handler(event, { getRemainingTimeInMillis: () => ends - Date.now() });
    await vi.advanceTimersByTimeAsync(FUNCTION_MS);
    return running;
  };
  return { tables, sent, give, run };
}

/** Budgets and breakers as they are deployed, on a PipelineState that takes calls and does not answer. */
function silentState(channel: Channel): Pick<ChannelPorts, 'breakers' | 'budgets' | 'receiver' | 'mayUse' | 'sends'> {
  const send = () =>
    inMs(SDK_MS).then(() => Promise.reject(Object.assign(new Error('no answer'), { name: 'TimeoutError' })));
  const client = { send } as unknown as DynamoDBClient;
  return {
    ...stateOnAws(channel, ENV, client, OBSERVABILITY, createPacer),
    receiver: channel === 'email' ? ACCOUNT : async () => ({ key: 'receiver', per_second: 1_000 }),
    mayUse: async () => true,
    sends: new SendsUnderWay(),
  };
}

describe('a PipelineState that does not answer', () => {
  beforeEach(() => void vi.useFakeTimers({ now: T0, toFake: [...FAKED] }));
  afterEach(() => void vi.useRealTimers());

  it.each(['email', 'slack'] as const)('lets a batch of %s wait for one call', async (channel) => {
    const { give, run, sent, tables } = channelFunction(channel);
    expect(await run(give(1))).toEqual({ batchItemFailures: [] });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toBeLessThanOrEqual(STATE_CALL_MS + 100);
    expect(tables.row('log-0')).toMatchObject({ send_status: 'SUCCESS', send_attempts: 2 });
  });
});

describe('a batch whose time ran out before it could send', () => {
  beforeEach(() => void vi.useFakeTimers({ now: T0, toFake: [...FAKED] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['the claim', 31_000, 0],
    ['the gate', 0, 31_000],
  ])('because of %s counts no attempt, and its rows are due again at once', async (_, claim_ms, gate_ms) => {
    const told: unknown[] = [];
    const gate: ProviderGate = {
      admit: async () => {
        await inMs(gate_ms);
        return { do: 'send', report: async (result) => !told.push(result) };
      },
    };
    const { give, run, sent, tables } = channelFunction('slack', gate, { hang_ms: claim_ms });
    expect(await run(give(3))).toEqual({ batchItemFailures: [] });
    expect(sent).toEqual([]);
    for (const log_id of ['log-0', 'log-1', 'log-2']) {
      expect(tables.row(log_id)).toMatchObject({
        send_status: 'RETRY',
        send_attempts: 1,
        attempts_left: 5,
        work_at: expect.stringContaining('10:30:31.00'),
      });
    }
    expect([...tables.retryLog.values()][0]).toMatchObject({
      retry_status: 'SKIPPED',
      uncounted: true,
      error_details: '{"worker":"out of time"}',
    });
    // The breaker learns that an attempt which it counted is over, and nothing about the provider.
    expect(told).toHaveLength(3);
    expect(told[0]).toMatchObject({ ok: false, asked: false });
  });

  it('sends what a slow claim left the time for', async () => {
    const { give, run, sent } = channelFunction('slack', PASS_THROUGH, { hang_ms: 29_000 });
    await run(give(1));
    expect(sent).toEqual([29_000]);
  });
});

it('SQS has no longer than its limit for the message of a retry, which the settlement waits for', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  const lanes = { express: 'http://127.0.0.1:9/express', standard: 'http://127.0.0.1:9/standard' };
  const { retries } = createLaneAccess({ webhook: lanes }, {});
  await expect(retries.send(messageFor(dueRow()), 1)).rejects.toThrow('SQS took no retry message');
  expect(timeout).toHaveBeenCalledWith(QUEUE_CALL_MS);
  timeout.mockRestore();
});
