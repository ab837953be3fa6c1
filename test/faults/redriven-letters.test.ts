import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { createHandler } from '../../functions/shared/channel/channel-function.ts';
import { VirtualTime } from '../../simulation/engine/virtual-time.ts';
import { MemoryPacing } from '../../src/adapters/memory/memory-pipeline-state.ts';
import { MemoryTables } from '../../src/adapters/memory/memory-tables.ts';
import type { SendResult } from '../../src/core/delivery/sender.ts';
import type { ReceivedMessage } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { MemoryQueue } from '../support/memory-queue.ts';
import { accountGate, pacerAt } from '../support/pacing.ts';
import { CONTENT, dueRow, messageFor, T0 } from '../support/rows.ts';

const VISIBILITY_MS = 361_000;
const LIMITS = { per_second: 14, sent_24h: 0, sending: true, enforcement: 'HEALTHY', production: true };
const DELIVERED: SendResult = { ok: true, response_code: '200' };
const REFUSED: SendResult = { ok: false, error_type: 'AUTH_FAILED', message: 'no' };

/** E-mails, the deployed handler with its budgets, and SQS, in virtual time. */
class PacedEmail {
  readonly time = new VirtualTime(T0);
  readonly tables = new MemoryTables(this.time.clock);
  readonly queue = new MemoryQueue({ clock: this.time.clock, visibility_ms: VISIBILITY_MS, max_receive_count: 5 });
  readonly sent: string[] = [];
  /** Slots of the budget that were granted. */
  granted = 0;
  answer: SendResult = REFUSED;
  readonly #pacing = new MemoryPacing();

  constructor(count: number) {
    for (let i = 1; i <= count; i++) {
      const row = dueRow({ log_id: `log-${i}`, channel: 'email', integration_config_id: 'IC1' });
      this.tables.log.set(row.log_id, { ...row });
      this.tables.content.set(row.log_id, { ...CONTENT, tenant_id: row.tenant_id });
      this.queue.send(messageFor(row));
    }
  }

  /** Workers take batches until the lane is empty. */
  drain(workers = 2): Promise<unknown> {
    return this.time.run(Promise.all(Array.from({ length: workers }, () => this.#work())));
  }

  async redrive(): Promise<void> {
    await this.time.run(this.time.pause(1_000));
    this.queue.redrive();
  }

  rows() {
    return [...this.tables.log.keys()].flatMap((log_id) => this.tables.row(log_id) ?? []);
  }

  async #work(): Promise<void> {
    const handler = this.#handler();
    while (this.queue.messages.length > 0) {
      const batch = this.queue.receive(10);
      if (batch.length === 0) await this.time.pause(100);
      else {
        const { batchItemFailures } = await handler(
          { Records: batch.map(recordOf) },
          { getRemainingTimeInMillis: () => 60_000 },
        );
        const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
        for (const { message_id } of batch) if (!failed.has(message_id)) this.queue.delete(message_id);
      }
    }
  }

  #handler() {
    const { time, tables, queue } = this;
    const { clock, pause } = time;
    const pacer = pacerAt(clock, { store: this.#pacing.store, readLimits: async () => LIMITS, random: () => 0.5 });
    const reserve = pacer.reserve.bind(pacer);
    pacer.reserve = async (asks) => {
      const allowances = await reserve(asks);
      for (const { slots } of allowances) this.granted += slots.length;
      return allowances;
    };
    const gate = accountGate(pacer, time, tables.rows);
    return createHandler(
      {
        pacing: gate,
        giveBack: async (_, returned) => {
          for (const { receipt_handle, after_seconds } of returned) queue.returnAfter(receipt_handle, after_seconds);
          return 0;
        },
        queues: { express: 'https://sqs/1/express', standard: 'https://sqs/1/standard' },
        deliver: {
          rows: tables.rows,
          records: tables.records,
          contents: tables.contents,
          successors: tables.successors,
          sender: {
            send: async ({ log_id }) => {
              this.sent.push(log_id);
              await pause(80);
              return this.answer;
            },
          },
          retries: { send: async (message, delay_seconds) => queue.send(message, delay_seconds) },
          gate,
          policy: DEFAULT_RETRY_POLICY,
          clock,
          random: () => 0.5,
          claim_ms: 65_000,
          inSendTime: (send) => send(new AbortController().signal),
          pause,
        },
      },
      { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) },
    );
  }
}

function recordOf({ message, message_id, sent_at, receive_count }: ReceivedMessage): SQSRecord {
  return {
    messageId: message_id,
    receiptHandle: message_id,
    body: JSON.stringify(message),
    attributes: {
      ApproximateReceiveCount: String(receive_count),
      SentTimestamp: String(sent_at.getTime()),
      SenderId: 'test',
      ApproximateFirstReceiveTimestamp: '',
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:1:standard',
    awsRegion: 'us-east-1',
  };
}

/** Dead e-mails whose letters lie in the DLQ. */
async function died(count: number): Promise<PacedEmail> {
  const email = new PacedEmail(count);
  await email.drain();
  expect(email.queue.dead_letters).toHaveLength(count);
  expect(email.rows().every(({ failure_reason }) => failure_reason === 'AUTH_FAILED')).toBe(true);
  email.sent.length = 0;
  return email;
}

describe('redriven e-mails that the provider allows only one after the other', () => {
  it('are each attempted, however often they are postponed, and delivered', async () => {
    const email = await died(100);
    email.answer = DELIVERED;
    await email.redrive();
    await email.drain();
    expect(new Set(email.sent).size).toBe(100);
    expect(
      email.rows().filter(({ send_status, redrive_count }) => send_status === 'SUCCESS' && redrive_count === 1),
    ).toHaveLength(100);
  });

  it('that die again are each in the DLQ again, and can be redriven again', async () => {
    const email = await died(50);
    for (let round = 1; round <= 3; round++) {
      await email.redrive();
      await email.drain();
      expect(email.sent).toHaveLength(50 * round);
      expect(email.queue.dead_letters).toHaveLength(50);
      expect(email.rows().every(({ redrive_count }) => redrive_count === round)).toBe(true);
    }
  });

  it('take no slots of the budget while they bounce to the DLQ', async () => {
    const email = new PacedEmail(100);
    await email.drain();
    expect(email.queue.dead_letters).toHaveLength(100);
    expect(email.granted).toBe(100);
  });
});
