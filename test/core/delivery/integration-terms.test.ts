import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type DeliverDeps, deliverBatch } from '../../../src/core/delivery/deliver.ts';
import { PASS_THROUGH, type RetryTerms } from '../../../src/core/delivery/ports.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, CONTENT, dueRow, messageFor, received } from '../../support/rows.ts';

const NOW = at(1000);

/** Delivers a row whose receiver always refuses, each retry at its time, until the row is dead. */
async function retried(
  terms: RetryTerms | undefined,
  changes: Partial<NotificationRow> = {},
  error: (send: number) => ProviderErrorType = () => 'UNKNOWN',
) {
  let now = NOW;
  const tables = new MemoryTables(() => now);
  const sentAt: number[] = [];
  const deps: DeliverDeps = {
    rows: tables.rows,
    records: tables.records,
    contents: tables.contents,
    sender: {
      async send() {
        sentAt.push(now.getTime());
        return { ok: false, error_type: error(sentAt.length - 1), message: 'no' };
      },
      retryTerms: async () => terms,
    },
    gate: PASS_THROUGH,
    successors: tables.successors,
    retries: { send: async () => {} },
    policy: DEFAULT_RETRY_POLICY,
    clock: () => now,
    random: () => 0,
    claim_ms: 65_000,
    inSendTime: (send) => send(new AbortController().signal),
    pause: async () => {},
    timeLeft: () => 60_000,
  };
  const row = dueRow({ priority: 'urgent', send_attempts: 0, attempts_left: 11, last_attempt: -1, ...changes });
  tables.log.set(row.log_id, { ...row });
  tables.content.set(row.log_id, { ...CONTENT, tenant_id: row.tenant_id });
  for (;;) {
    const current = tables.row(row.log_id);
    if (current === undefined) throw new Error('the row is gone');
    if (current.failure_reason !== undefined) return { row: current, sentAt, waits: waitsOf(sentAt) };
    now = new Date(Math.max(now.getTime(), Date.parse(current.work_at ?? '')));
    const message = received(messageFor(current), { message_id: `m-${sentAt.length}` });
    await deliverBatch([message], deps);
  }
}

const waitsOf = (times: readonly number[]) => times.slice(1).map((time, i) => (time - (times[i] ?? 0)) / 1000);

it('an integration’s limit replaces that of the priority, whether it is lower or higher', async () => {
  const limits = fc.record({
    max_retries: fc.integer({ min: 0, max: 12 }),
    attempts_left: fc.integer({ min: 1, max: 11 }),
  });
  await fc.assert(
    fc.asyncProperty(limits, async ({ max_retries, attempts_left }) => {
      const { row, sentAt } = await retried({ max_retries, base_interval_ms: 1 }, { attempts_left });
      expect(sentAt).toHaveLength(max_retries + 1);
      expect(row).toMatchObject({ failure_reason: 'MAX_RETRIES', send_attempts: max_retries + 1 });
    }),
  );
});

it('an integration’s base interval is the unit of its backoff: base × 2ⁿ', async () => {
  const { waits } = await retried({ base_interval_ms: 60_000, max_retries: 4 });
  expect(waits).toEqual([60, 120, 240, 480]);
  const stage = await retried({ max_retries: 2 });
  expect(stage.waits).toEqual([300, 600]);
});

it('an integration’s limit gives way to the row’s own', async () => {
  const { sentAt } = await retried({ max_retries: 8, base_interval_ms: 1 }, { max_retry_count: 2, attempts_left: 3 });
  expect(sentAt).toHaveLength(3);
});

it('the window of the priority bounds an integration’s retries, too', async () => {
  const { row, sentAt } = await retried({ max_retries: 100, base_interval_ms: 60_000 }, { priority: 'info' });
  expect(row.failure_reason).toBe('EXPIRED');
  expect(sentAt.length).toBeLessThan(10);
});

it('a rate limit uses up none of an integration’s retries', async () => {
  const { sentAt } = await retried({ max_retries: 2, base_interval_ms: 1 }, {}, (send) =>
    send === 1 ? 'RATE_LIMITED' : 'UNKNOWN',
  );
  expect(sentAt).toHaveLength(4);
});

it('without terms the stage’s policy holds', async () => {
  const { sentAt, waits } = await retried(undefined, { priority: 'normal', attempts_left: 2 });
  expect(sentAt).toHaveLength(2);
  expect(waits).toEqual([300]);
});
