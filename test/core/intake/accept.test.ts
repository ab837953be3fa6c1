import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Acceptance, accept, IN_FLIGHT_MS } from '../../../src/core/intake/accept.ts';
import { KEY_LIFETIME_MS } from '../../../src/core/intake/idempotency-key.ts';
import type { NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import type { IntakeDeps } from '../../../src/core/intake/ports.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { intakeRequest, memoryIntake } from '../../support/api/intake.ts';
import { at, iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
/** What the lane's function makes of the message. */
const claimOf = ({ message }: Acceptance, { rows }: MemoryTables) =>
  message && rows.claim(message.message, iso(HOUR), 'claim-1');
const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof Problem ? error.problem : error),
  );

describe('a key of retry-and-idempotency-design.md §2', () => {
  it('used first: the notification exists once, is due now, and its message names what is due', async () => {
    const { tables, deps } = memoryIntake();
    const { log_id, status, repeat, message } = await accept(intakeRequest(), deps);
    expect({ status, repeat }).toEqual({ status: 'processing', repeat: false });
    expect(tables.row(log_id)).toMatchObject({
      tenant_id: 'tenant-1',
      send_status: 'PENDING',
      send_attempts: 0,
      attempts_left: 6,
      last_attempt: -1,
      work_queue: expect.stringMatching(/^due#normal#/),
      work_at: iso(),
      created_at: iso(),
      history_bucket: expect.any(String),
      notification_key: expect.any(String),
      recipient_hash: expect.any(String),
    });
    expect(tables.row(log_id)).not.toHaveProperty('recipient_address');
    expect(tables.content.get(log_id)).toMatchObject({ recipient: 'https://example.com/hook', body: '本文' });
    expect(message).toMatchObject({ delay_seconds: 0, message: { log_id, due: iso(), channel: 'webhook' } });
  });

  it('used again for the same request: the same answer, and nothing is sent again', async () => {
    const { tables, deps, pass } = memoryIntake();
    const first = await accept(intakeRequest(), deps);
    await claimOf(first, tables);
    pass(KEY_LIFETIME_MS - 1);
    expect(await accept(intakeRequest(), deps)).toEqual({ log_id: first.log_id, status: first.status, repeat: true });
    expect(tables.log.size).toBe(1);
  });

  it('of a request that died, whose recipient was erased since: its answer, and neither row nor message', async () => {
    const { tables, deps, pass } = memoryIntake();
    const dying = { ...deps.store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(intakeRequest(), { ...deps, store: dying })).rejects.toThrow('died');
    const [log_id = ''] = tables.content.keys();
    await tables.erasable.eraseContent({ log_id, tenant_id: 'tenant-1' });
    pass(IN_FLIGHT_MS + 1);
    expect(await accept(intakeRequest(), deps)).toEqual({ log_id, status: 'processing', repeat: true });
    expect(tables.log.size).toBe(0);
    expect(JSON.stringify([...tables.content])).not.toContain('example.com');
  });

  it('gives the first answer again whatever became of the notification', async () => {
    const { tables, deps, pass } = memoryIntake();
    const { log_id } = await accept(intakeRequest('k', { scheduled_at: iso(HOUR) }), deps);
    tables.log.set(log_id, { ...tables.log.get(log_id), send_status: 'SUCCESS' });
    pass(2 * HOUR);
    const again = await accept(intakeRequest('k', { scheduled_at: iso(HOUR) }), deps);
    expect(again).toEqual({ log_id, status: 'saving', repeat: true });
  });

  it('used for another request: refused, and nothing of it is stored', async () => {
    const { tables, deps } = memoryIntake();
    const { log_id } = await accept(intakeRequest(), deps);
    expect(await problemOf(accept(intakeRequest('key-1', { body: 'other' }), deps))).toBe('idempotency-key-reused');
    expect(tables.content.get(log_id)?.body).toBe('本文');
    expect(tables.log.size).toBe(1);
  });

  it('older than 72 hours: as new, time and again, each time for another notification', async () => {
    const { tables, deps, pass } = memoryIntake();
    const ids = new Set<string>();
    for (let use = 0; use < 4; use++) {
      const { log_id, repeat } = await accept(intakeRequest('daily', { body: `day ${use}` }), deps);
      expect(repeat).toBe(false);
      ids.add(log_id);
      expect(await accept(intakeRequest('daily', { body: `day ${use}` }), deps)).toMatchObject({
        log_id,
        repeat: true,
      });
      pass(KEY_LIFETIME_MS);
    }
    expect(ids.size).toBe(4);
    expect(tables.log.size).toBe(4);
  });

  it('is remembered over the day on which its first use expires from the tables', async () => {
    const { tables, deps, pass } = memoryIntake();
    const twoYears = 2 * 365 * 24 * HOUR;
    await accept(intakeRequest('old'), deps);
    pass(twoYears - HOUR);
    const { log_id } = await accept(intakeRequest('old'), deps);
    pass(2 * HOUR);
    expect(await accept(intakeRequest('old'), deps)).toMatchObject({ log_id, repeat: true });
    pass(twoYears);
    expect(await accept(intakeRequest('old'), deps)).toMatchObject({ repeat: false });
    expect(tables.log.size).toBe(2);
  });

  it('keeps its first record for six days after each new use, in seconds since 1970, and no shorter than before', async () => {
    const { deps, clock, pass } = memoryIntake();
    const request = intakeRequest('daily');
    const expiry = async () => (await deps.store.find(request.logId(0)))?.expires_at;
    const seconds = () => clock().getTime() / 1000;
    const twoYears = seconds() + 730 * 86_400;
    await accept(request, deps);
    expect(await expiry()).toBe(twoYears);
    pass(KEY_LIFETIME_MS);
    await accept(request, deps);
    expect(await expiry()).toBe(twoYears);
    pass(727 * 24 * HOUR + 1);
    await accept(request, deps);
    expect(await expiry()).toBe(Math.ceil(seconds()) + 6 * 86_400);
  });

  it('marks the record of its request by eight characters, as each content item stores them', async () => {
    const { deps } = memoryIntake();
    const request = intakeRequest('marked');
    await accept(request, { ...deps, newId: () => '01234567-89ab-cdef' });
    expect((await deps.store.find(request.logId(0)))?.accepted_by).toBe('01234567');
  });

  it('is spread over as many shards as the stage has', async () => {
    const { tables, deps } = memoryIntake();
    const shards = async () => ({ work: 64, history: 64 });
    for (let i = 0; i < 20; i++) await accept(intakeRequest(`key-${i}`), { ...deps, shards });
    const shardsOf = (name: string) =>
      [...tables.log.values()].map((row) => Number(String(row[name]).split('#').at(-1)));
    for (const name of ['work_queue', 'history_bucket']) expect(Math.max(...shardsOf(name)), name).toBeGreaterThan(8);
  });

  it('is its tenant’s own: another tenant’s same key is another notification', async () => {
    const { tables, deps } = memoryIntake();
    const [one, other] = await Promise.all(
      ['tenant-1', 'tenant-2'].map((tenant) => accept(intakeRequest('key-1', {}, tenant), deps)),
    );
    expect(one?.log_id).not.toBe(other?.log_id);
    expect(tables.log.size).toBe(2);
  });

  it('used by 100 requests at once: exactly one notification', async () => {
    const { tables, deps } = memoryIntake();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => accept(intakeRequest(), deps).catch((error: Problem) => error.problem)),
    );
    expect(tables.log.size).toBe(1);
    const kinds = answers.map((answer) => (typeof answer === 'string' ? answer : answer.repeat ? 'repeat' : 'first'));
    expect(kinds.filter((kind) => kind === 'first')).toHaveLength(1);
    expect(new Set(kinds)).not.toContain('idempotency-key-reused');
  });
});

describe('a request that is refused', () => {
  const messageOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (error: unknown) => (error instanceof Problem ? [error.problem, error.message] : error),
    );

  it('says why, and what to do', async () => {
    const { deps } = memoryIntake();
    await accept(intakeRequest(), deps);
    expect(await messageOf(accept(intakeRequest('key-1', { body: 'other' }), deps))).toEqual([
      'idempotency-key-reused',
      'This Idempotency-Key was used for another request in the last 72 hours. Use a new key for each notification.',
    ]);
    const late = intakeRequest('late', { scheduled_at: iso(400 * 24 * HOUR) });
    expect(await messageOf(accept(late, deps))).toEqual([
      'invalid-request',
      'The notification cannot be scheduled at this time.',
    ]);
    void accept(intakeRequest('stuck'), {
      ...deps,
      store: { ...deps.store, putRow: () => new Promise<undefined>(() => {}) },
    });
    await Promise.resolve();
    expect(await messageOf(accept(intakeRequest('stuck'), deps))).toEqual([
      'request-in-progress',
      'The first request with this Idempotency-Key is still in progress.',
    ]);
  });

  it('and completed later is due then, and waits for no retry', async () => {
    const { tables, deps, clock, pass } = memoryIntake();
    void accept(intakeRequest('died'), {
      ...deps,
      store: { ...deps.store, putRow: () => new Promise<undefined>(() => {}) },
    });
    await Promise.resolve();
    pass(IN_FLIGHT_MS);
    const { log_id } = await accept(intakeRequest('died'), deps);
    expect(tables.row(log_id)).toMatchObject({ work_at: clock().toISOString(), created_at: iso() });
    expect(tables.row(log_id)).not.toHaveProperty('next_retry_at');
  });
});

describe('a request still in flight', () => {
  it('makes the next one wait, for as long as Retry-After says', async () => {
    const { deps, pass } = memoryIntake();
    const stuck = { ...deps, store: { ...deps.store, putRow: () => new Promise<undefined>(() => {}) } };
    void accept(intakeRequest(), stuck);
    await Promise.resolve();
    pass(1_500);
    const refused = await accept(intakeRequest(), deps).catch((error: unknown) => error);
    expect(refused).toMatchObject({ problem: 'request-in-progress', extras: { retry_after_seconds: 4 } });
    pass(3_500);
    expect(await accept(intakeRequest(), deps)).toMatchObject({ repeat: true });
  });

  it('and that is completed by another try keeps the trace of the try that died', async () => {
    const { tables, deps, pass } = memoryIntake();
    const trace = (digit: string) => ({ traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01` });
    const store = { ...deps.store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(intakeRequest('k', trace('a')), { ...deps, store })).rejects.toThrow('died');
    pass(IN_FLIGHT_MS);
    for (const other of [trace('b'), {}]) {
      const { log_id } = await accept(intakeRequest('k', other), deps);
      expect(tables.row(log_id)).toMatchObject(trace('a'));
    }
  });

  it('counts as dead when storage tells of it after its longest time', async () => {
    const { deps, pass } = memoryIntake();
    const store = { ...deps.store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(intakeRequest(), { ...deps, store })).rejects.toThrow('died');
    const reserve: IntakeDeps['store']['reserve'] = async (...entry) => {
      const found = await deps.store.reserve(...entry);
      pass(IN_FLIGHT_MS);
      return found;
    };
    const late = { ...deps, store: { ...deps.store, reserve } };
    expect(await accept(intakeRequest(), late)).toMatchObject({ repeat: true, message: { delay_seconds: 0 } });
  });
});

/** Every put takes effect, its answer gets lost, and the SDK makes it anew. */
function losingAnswers(store: IntakeDeps['store']): IntakeDeps['store'] {
  return {
    ...store,
    reserve: async (...entry) => {
      await store.reserve(...entry);
      return store.reserve(...entry);
    },
    putRow: async (...row) => {
      await store.putRow(...row);
      return store.putRow(...row);
    },
  };
}

describe('a request whose puts the SDK makes twice, for their answers got lost', () => {
  it.each([
    ['plain', {}],
    ['scheduled', { scheduled_at: iso(5 * 60_000) }],
    ['with a failed attempt', { failed_attempt: { error_type: 'NETWORK_TIMEOUT' } }],
    ['with a failed attempt that is final', { failed_attempt: { error_type: 'AUTH_FAILED' } }],
  ] as const)('(%s) is the first one all the same, and sends its message', async (_, changes) => {
    const { deps } = memoryIntake();
    const expected = await accept(intakeRequest('k', changes), memoryIntake().deps);
    const answer = await accept(intakeRequest('k', changes), { ...deps, store: losingAnswers(deps.store) });
    expect(answer).toEqual(expected);
    expect(answer).toHaveProperty('message');
  });

  it('takes nobody else’s record for its own', async () => {
    const { deps } = memoryIntake();
    const store = { ...deps.store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(intakeRequest(), { ...deps, store })).rejects.toThrow('died');
    const lost = { ...deps, store: losingAnswers(deps.store) };
    expect(await problemOf(accept(intakeRequest(), lost))).toBe('request-in-progress');
  });
});

describe('a failed attempt of a notification that is scheduled', () => {
  it.each([
    ['in a week', 7 * 24 * HOUR],
    ['after its backoff', 2 * HOUR],
  ])('%s is retried then, with the window that begins then', async (_, ms) => {
    const { tables, deps } = memoryIntake();
    const scheduled_at = iso(ms);
    const failed_attempt = { error_type: 'SERVER_OVERLOAD' } as const;
    const answer = await accept(intakeRequest('k', { scheduled_at, failed_attempt }), deps);
    expect(answer.status).toBe('retrying');
    expect(answer).not.toHaveProperty('message');
    const row = tables.row(answer.log_id);
    expect(row).toMatchObject({ next_retry_at: scheduled_at, work_at: scheduled_at, first_attempt_at: scheduled_at });
  });

  it('before its backoff ends waits for that', async () => {
    const { tables, deps } = memoryIntake();
    const changes = { scheduled_at: iso(1_000), failed_attempt: { error_type: 'UNKNOWN' } } as const;
    const { log_id } = await accept(intakeRequest('k', changes), deps);
    expect(Date.parse(tables.row(log_id)?.next_retry_at ?? '')).toBeGreaterThan(at(200_000).getTime());
  });

  it('is final at once where no time helps', async () => {
    const { deps } = memoryIntake();
    const changes = { scheduled_at: iso(24 * HOUR), failed_attempt: { error_type: 'AUTH_FAILED' } } as const;
    expect(await accept(intakeRequest('k', changes), deps)).toMatchObject({ status: 'failed' });
  });
});

describe('a row whose message was never sent, for its request died', () => {
  it.each([
    ['due', {}, 0],
    ['due within 15 minutes', { scheduled_at: iso(10 * 60_000) }, -5],
    ['retried after its own failed send', { failed_attempt: { error_type: 'NETWORK_TIMEOUT' } }, -5],
    ['to be given up after its own failed send', { failed_attempt: { error_type: 'AUTH_FAILED' } }, 0],
  ] as const)('and is %s gets one by the next request with its key', async (_, changes, later) => {
    const { deps, pass } = memoryIntake();
    const { message: lost } = await accept(intakeRequest('k', changes), deps);
    pass(IN_FLIGHT_MS);
    const { message, repeat } = await accept(intakeRequest('k', changes), deps);
    expect(repeat).toBe(true);
    const delay_seconds = (lost?.delay_seconds ?? 0) + later;
    expect(message).toEqual({ message: { ...lost?.message, run_id: expect.any(String) }, delay_seconds });
    expect(message?.message.run_id).not.toBe(lost?.message.run_id);
  });

  it.each<[string, Partial<NotificationRequest>, number, Partial<NotificationRow>]>([
    ['while the first request may still send it', {}, IN_FLIGHT_MS - 1, {}],
    ['when it is due later than SQS can delay', { scheduled_at: iso(HOUR) }, IN_FLIGHT_MS, {}],
    ['when it is claimed', {}, IN_FLIGHT_MS, { send_status: 'SENDING', last_attempt: 0 }],
    ['when it waits for its retry', {}, IN_FLIGHT_MS, { send_status: 'RETRY', last_attempt: 0 }],
    ['when it was delivered', {}, IN_FLIGHT_MS, { send_status: 'SUCCESS', last_attempt: 0 }],
  ])('gets none %s', async (_, changes, ms, later) => {
    const { tables, deps, pass } = memoryIntake();
    const { log_id } = await accept(intakeRequest('k', changes), deps);
    tables.log.set(log_id, { ...tables.log.get(log_id), ...later });
    pass(ms);
    expect(await accept(intakeRequest('k', changes), deps)).not.toHaveProperty('message');
  });
});

describe('a request that was only slow', () => {
  it('sends no message for the row that another one put, whose message has gone out', async () => {
    const { tables, deps, pass } = memoryIntake();
    let wake: () => void = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let reached: () => void = () => {};
    const putting = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const { putRow } = deps.store;
    const store: IntakeDeps['store'] = {
      ...deps.store,
      putRow: (...row) => {
        reached();
        return asleep.then(() => putRow(...row));
      },
    };
    const first = accept(intakeRequest(), { ...deps, store });
    await putting;
    pass(IN_FLIGHT_MS);
    expect(await accept(intakeRequest(), deps)).toHaveProperty('message');
    wake();
    expect(await first).not.toHaveProperty('message');
    expect(tables.log.size).toBe(1);
  });

  it('and the one that completed it meanwhile did the same: record and row agree', async () => {
    const { tables, deps, pass } = memoryIntake();
    const request = intakeRequest('k', { failed_attempt: { error_type: 'SERVER_OVERLOAD' } });
    let wake: () => void = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const putIfAbsent = (record: RetryRecord) => asleep.then(() => tables.records.putIfAbsent(record));
    const slow = { ...deps, records: { putIfAbsent } };
    const first = accept(request, slow);
    await Promise.resolve();
    pass(IN_FLIGHT_MS + 1_234);
    const { log_id } = await accept(request, deps);
    const completed = structuredClone([...tables.retryLog.values()]);
    pass(789);
    wake();
    expect(await first).toMatchObject({ log_id, status: 'retrying' });
    expect([...tables.retryLog.values()]).toEqual(completed);
    expect(tables.row(log_id)).toMatchObject({
      created_at: iso(),
      next_retry_at: completed[0]?.next_retry_at,
      work_at: completed[0]?.next_retry_at,
    });
  });
});

/** Dies at its n-th call of storage, before or after the call took effect. */
function dying(deps: IntakeDeps, nth: number, after: boolean): IntakeDeps {
  let calls = 0;
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (object, name) => {
        const method = Reflect.get(object, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const dies = ++calls === nth;
          if (dies && !after) throw new Error('died');
          const result = await method.apply(object, args);
          if (dies) throw new Error('died');
          return result;
        };
      },
    });
  return { ...deps, store: wrap(deps.store), records: wrap(deps.records) };
}

describe('a request that dies', () => {
  const kinds = [
    ['plain', {}],
    ['with a failed attempt', { failed_attempt: { error_type: 'SERVER_OVERLOAD', attempted_at: iso(-1_000) } }],
    ['with a failed attempt that is final', { failed_attempt: { error_type: 'AUTH_FAILED' } }],
  ] as const;
  const deaths = [1, 2, 3].flatMap((call) => [false, true].map((after) => [call, after] as const));

  it.each(kinds.flatMap(([kind, changes]) => deaths.map(([call, after]) => [kind, call, after, changes] as const)))(
    '(%s) at its storage call %i, done: %s, neither loses nor doubles the notification when asked again',
    async (_, call, after, changes) => {
      const { tables, deps, pass } = memoryIntake();
      const whole = memoryIntake();
      const expected = await accept(intakeRequest('k', changes), whole.deps);
      const died = await accept(intakeRequest('k', changes), dying(deps, call, after)).catch((error: Error) => error);
      pass(IN_FLIGHT_MS);
      const again = await accept(intakeRequest('k', changes), deps);
      expect(tables.log.size).toBe(1);
      expect(again).toMatchObject({ log_id: expected.log_id, status: expected.status });
      const row = tables.row(again.log_id);
      // What nobody sends a message for is found by a sweep.
      expect(row).toHaveProperty('work_queue');
      if (died instanceof Error && tables.log.size === 1) {
        expect(row?.last_attempt).toBe(whole.tables.row(expected.log_id)?.last_attempt);
        expect(tables.retryLog.size).toBe(whole.tables.retryLog.size);
      }
    },
  );

  it('however often and wherever: one notification, one record, as if nothing had happened', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.boolean(), fc.nat(2 * IN_FLIGHT_MS)), { maxLength: 6 }),
        async (histories) => {
          const { tables, deps, pass } = memoryIntake();
          const request = intakeRequest('k', { failed_attempt: { error_type: 'NETWORK_TIMEOUT' } });
          for (const [call, after, wait] of histories) {
            await accept(request, dying(deps, call, after)).catch(() => {});
            pass(wait);
          }
          pass(IN_FLIGHT_MS);
          const { log_id } = await accept(request, deps);
          expect([...tables.log.keys()]).toEqual([log_id]);
          expect(tables.retryLog.size).toBe(1);
          expect(tables.row(log_id)).toMatchObject({ send_status: 'RETRY', send_attempts: 1, last_attempt: 0 });
        },
      ),
      { numRuns: 200 },
    );
  });
});

it.each([
  ['due at once', {}, 6 * HOUR],
  ['scheduled for meanwhile', { scheduled_at: iso(HOUR) }, 6 * HOUR],
  ['scheduled for later', { scheduled_at: iso(7 * HOUR) }, 7 * HOUR],
  ['to be retried', { failed_attempt: { error_type: 'SERVER_OVERLOAD' } }, 6 * HOUR],
  ['given up', { failed_attempt: { error_type: 'AUTH_FAILED' } }, 6 * HOUR],
] as const)(
  'a request that is completed hours later and was %s, is due from then on, in row and message alike',
  async (_, changes, ms) => {
    const { tables, deps, pass } = memoryIntake();
    const request = intakeRequest('k', changes);
    const store = { ...deps.store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(request, { ...deps, store })).rejects.toThrow('died');
    pass(6 * HOUR);
    const { log_id, message } = await accept(request, deps);
    const row = tables.row(log_id);
    const due = iso(ms);
    expect(row).toMatchObject({ created_at: iso(), work_at: due });
    if (row?.next_retry_at !== undefined) expect(row.next_retry_at).toBe(due);
    expect(message?.message.due).toBe(ms === 6 * HOUR ? due : undefined);
  },
);

describe('scheduled_at', () => {
  it.each([
    ['within 15 minutes', 10 * 60_000, 'saving', 600],
    ['later than SQS can delay', HOUR, 'saving', undefined],
    ['a little late, as from a spool', -HOUR, 'processing', 0],
  ])('%s', async (_, ms, status, delay_seconds) => {
    const { tables, deps } = memoryIntake();
    const scheduled_at = iso(ms);
    const acceptance: Acceptance = await accept(intakeRequest('k', { scheduled_at }), deps);
    expect(acceptance.status).toBe(status);
    expect(acceptance.message?.delay_seconds).toBe(delay_seconds);
    const row = tables.row(acceptance.log_id);
    expect(row).toMatchObject({ scheduled_at, work_at: iso(Math.max(0, ms)) });
    // No sweep queues a second message ahead.
    expect(row?.queued_for).toBe(ms > 0 && delay_seconds !== undefined ? scheduled_at.slice(11, 19) : undefined);
  });

  it('notes on an urgent row that its message was sent, so that no express run sends another while it waits', async () => {
    const { tables, deps } = memoryIntake();
    const { log_id, message } = await accept(intakeRequest('k', { priority: 'urgent' }), deps);
    expect(message).toMatchObject({ delay_seconds: 0 });
    expect(tables.row(log_id)?.queued_for).toBe(`~${iso().slice(11, 19).replaceAll(':', '')}`);
  });

  it.each([
    ['longer ago than the window of its priority', -6 * HOUR - 1, 'expired'],
    ['more than a year ahead', 366 * 24 * HOUR, 'max_days_ahead'],
  ])('%s is refused, and nothing is stored', async (_, ms, rule) => {
    const { tables, deps } = memoryIntake();
    const refused = await accept(intakeRequest('k', { scheduled_at: iso(ms) }), deps).catch((error: unknown) => error);
    expect(refused).toMatchObject({ problem: 'invalid-request', extras: { errors: [{ path: 'scheduled_at', rule }] } });
    expect(tables.content.size + tables.log.size).toBe(0);
  });

  it('that has passed since the first request does not keep a repeat from its answer', async () => {
    const { deps, pass } = memoryIntake();
    const request = intakeRequest('k', { scheduled_at: iso(HOUR) });
    const { log_id } = await accept(request, deps);
    pass(24 * HOUR);
    expect(await accept(request, deps)).toMatchObject({ log_id, repeat: true });
  });
});

describe('a failed attempt of the producer’s own', () => {
  it('is attempt 0: recorded, judged, retried after the backoff of a first failure', async () => {
    const { tables, deps } = memoryIntake();
    const attempted_at = iso(-60_000);
    const failed_attempt = { error_type: 'SERVER_OVERLOAD', response_code: '503', attempted_at } as const;
    const { log_id, status } = await accept(intakeRequest('k', { failed_attempt }), deps);
    expect(status).toBe('retrying');
    const row = tables.row(log_id);
    expect(row).toMatchObject({
      send_status: 'RETRY',
      send_attempts: 1,
      attempts_left: 5,
      last_attempt: 0,
      retry_count: 0,
      first_attempt_at: attempted_at,
      error_type: 'SERVER_OVERLOAD',
      response_code: '503',
    });
    const wait = Date.parse(row?.next_retry_at ?? '') - T0.getTime();
    expect(wait).toBeGreaterThanOrEqual(10 * 60_000);
    expect(wait).toBeLessThan(20 * 60_000);
    expect(row?.work_at).toBe(row?.next_retry_at);
    expect([...tables.retryLog.values()]).toEqual([
      expect.objectContaining({
        retry_attempt: 0,
        retry_status: 'FAILED',
        retry_at: attempted_at,
        response_code: '503',
      }),
    ]);
  });

  it('that is final fails over, by whoever gets its message, where it names a fallback', async () => {
    const { tables, deps } = memoryIntake();
    const fallback = { channel: 'slack', recipient: '#ops' } as const;
    const failed_attempt = { error_type: 'INVALID_RECIPIENT' } as const;
    const { log_id, status, message } = await accept(intakeRequest('k', { fallback, failed_attempt }), deps);
    expect(status).toBe('failed');
    expect(tables.row(log_id)).toMatchObject({ send_status: 'SENDING', fallback_channel: 'slack' });
    expect(tables.row(log_id)).not.toHaveProperty('fallback_recipient');
    expect(tables.content.get(log_id)?.fallback).toEqual({ recipient: '#ops' });
    expect(message).toMatchObject({ message: { due: iso() } });
  });

  it.each([
    ['a wrong recipient stops it: no work, no message', 'INVALID_RECIPIENT', {}, false],
    ['a refused credential is a dead letter', 'AUTH_FAILED', {}, true],
    ['with no retry allowed it is a dead letter', 'UNKNOWN', { max_retry_count: 0 }, true],
    ['of long ago it is a dead letter', 'UNKNOWN', {}, true, -48 * HOUR],
  ] as const)('%s', async (_, error_type, changes, dead, ms = 0) => {
    const { tables, deps } = memoryIntake();
    const failed_attempt = { error_type, attempted_at: iso(ms) };
    const { log_id, status, message } = await accept(intakeRequest('k', { ...changes, failed_attempt }), deps);
    expect(status).toBe('failed');
    const row = tables.row(log_id);
    if (!dead) {
      expect(row).toMatchObject({ send_status: 'FAILED', failure_reason: error_type });
      expect(row).not.toHaveProperty('work_queue');
      expect(message).toBeUndefined();
      return;
    }
    // Left to the lane's function, which settles it by its record and bounces the message into the DLQ.
    expect(row).toMatchObject({ send_status: 'SENDING', work_at: iso(), claim_until: iso(ms) });
    expect(message).toMatchObject({ delay_seconds: 0, message: { due: iso() } });
    expect([...tables.retryLog.values()][0]).toHaveProperty('failure_reason');
  });

  it('that lies in the future by a producer’s clock is taken as made now', async () => {
    const { tables, deps } = memoryIntake();
    const failed_attempt = { error_type: 'UNKNOWN', attempted_at: iso(HOUR) } as const;
    const { log_id } = await accept(intakeRequest('k', { failed_attempt }), deps);
    expect(tables.row(log_id)).toMatchObject({ first_attempt_at: iso() });
  });
});

describe('a channel that the stage does not have', () => {
  const channels = ['webhook', 'email'] as const;

  it.each([
    ['channel', { channel: 'teams' }],
    ['fallback.channel', { fallback: { channel: 'teams', recipient: 'https://hooks.example.com/x' } }],
  ] as const)('is refused by its place: %s', async (path, changes) => {
    const { tables, deps } = memoryIntake();
    const refused = await accept(intakeRequest('k', changes as never), { ...deps, channels }).catch((error) => error);
    expect(refused).toBeInstanceOf(Problem);
    expect(refused).toMatchObject({
      problem: 'invalid-request',
      message: 'This stage does not deliver on the channel of the notification.',
      extras: { errors: [{ path, rule: 'channels', message: 'must be one of webhook, email, which this stage has' }] },
    });
    expect(tables.log.size).toBe(0);
  });

  it('gives the first answer again to what was accepted while it was there', async () => {
    const { deps } = memoryIntake();
    const request = intakeRequest('k', { channel: 'teams', recipient: 'https://hooks.example.com/x' } as never);
    const first = await accept(request, deps);
    expect(await accept(request, { ...deps, channels })).toMatchObject({ log_id: first.log_id, repeat: true });
  });
});
