import { describe, expect, it } from 'vitest';
import type { DeliverDeps } from '../../../src/core/delivery/deliver.ts';
import {
  ContentUnreadableError,
  PASS_THROUGH,
  type ProviderGate,
  type Sender,
} from '../../../src/core/delivery/ports.ts';
import { INTAKE_API } from '../../../src/core/model/notification.ts';
import {
  ACCEPTED,
  deadLetter,
  dueAgain,
  later,
  MINUTE,
  NOW,
  refused,
  retryRecord,
  saidOf,
  settledRow,
  setUp,
  UNCOUNTED,
} from '../../support/delivering.ts';
import { CONTENT, dueRow } from '../../support/rows.ts';

const plain = { log_id: 'log-1', tenant_id: 'tenant-1', attempt: 1, channel: 'webhook', content: CONTENT, at: NOW };

it.each([
  ['a bare row', {}, {}],
  ['a row with a kind of recipient', { recipient_type: 'CHANNEL' }, { recipient_type: 'CHANNEL' }],
  ['a row of an integration', { integration_config_id: 'i-1' }, { integration_config_id: 'i-1' }],
  [
    'a row whose tenant chose the integration',
    { integration_config_id: 'i-1', created_by: INTAKE_API },
    { integration_config_id: 'i-1', chosen_by_tenant: true },
  ],
  ['a row that someone else wrote', { created_by: 'BATCH-951' }, {}],
] as const)('what the sender gets of %s', async (_, columns, expected) => {
  const { deliverOne, put, deliveries } = setUp();
  await deliverOne(put(dueRow(columns)));
  expect(deliveries).toEqual([{ ...plain, ...expected }]);
});

describe('a credential that is refused for the moment', () => {
  it('is not read again if the sender has none to read: the attempt has failed', async () => {
    const sends: number[] = [];
    const sender: Sender = { send: async () => refused('AUTH_TEMPORARY', { message: String(sends.push(1)) }) };
    const { row } = await setUp(() => ACCEPTED, { sender }).deliverOne();
    expect(sends).toHaveLength(1);
    expect(row).toEqual(settledRow({ ...saidOf('AUTH_TEMPORARY', 1, '1').row, ...dueAgain(10 * MINUTE) }));
  });

  it.each([
    ['NETWORK_TIMEOUT', { changed: true, reads: 0, sends: 1 }],
    ['FORMAT_ERROR', { changed: true, reads: 0, sends: 1 }],
    ['AUTH_TEMPORARY', { changed: false, reads: 1, sends: 2 }],
    ['AUTH_FAILED', { changed: false, reads: 1, sends: 1 }],
    ['AUTH_FAILED', { changed: true, reads: 1, sends: 2 }],
    ['PERMISSION_DENIED', { changed: false, reads: 1, sends: 1 }],
    ['PERMISSION_DENIED', { changed: true, reads: 1, sends: 2 }],
  ] as const)('after %s: %o', async (error_type, { changed, reads, sends }) => {
    const done = { reads: 0, sends: 0 };
    const sender: Sender = {
      send: async () => {
        done.sends += 1;
        return refused(error_type);
      },
      refreshCredential: async () => {
        done.reads += 1;
        return changed;
      },
    };
    await setUp(() => ACCEPTED, { sender }).deliverOne();
    expect(done).toEqual({ reads, sends });
  });

  it('and was repaired meanwhile delivers in the same attempt', async () => {
    const answers = [refused('AUTH_FAILED'), ACCEPTED];
    const sender: Sender = { send: async () => answers.shift() ?? ACCEPTED, refreshCredential: async () => true };
    const { row, records } = await setUp(() => ACCEPTED, { sender }).deliverOne();
    const sent = { send_status: 'SUCCESS', sent_at: NOW.toISOString(), response_code: '200' } as const;
    expect(row).toEqual(settledRow(sent, ['work_queue']));
    expect(records).toEqual([retryRecord({ retry_status: 'SUCCESS', response_code: '200' })]);
  });

  it('that cannot be read costs no retry', async () => {
    const sender: Sender = {
      send: async () => refused('AUTH_TEMPORARY'),
      refreshCredential: () => Promise.reject(new TypeError('secret of someone@example.com')),
    };
    const { row, records } = await setUp(() => ACCEPTED, { sender }).deliverOne();
    const said = saidOf('UNKNOWN', 1, 'The content could not be read: TypeError');
    expect(row).toEqual(settledRow({ ...said.row, ...UNCOUNTED, ...dueAgain(5 * MINUTE) }));
    expect(JSON.stringify(records)).not.toContain('someone');
  });

  it('shares one time limit with the send that repeats it', async () => {
    const signals: AbortSignal[] = [];
    const limits: AbortSignal[] = [];
    const sender: Sender = {
      send: async (_, signal) => {
        signals.push(signal);
        return refused('AUTH_TEMPORARY');
      },
      refreshCredential: async () => false,
    };
    const inSendTime: DeliverDeps['inSendTime'] = (send) => {
      const { signal } = new AbortController();
      limits.push(signal);
      return send(signal);
    };
    await setUp(() => ACCEPTED, { sender, inSendTime }).deliverOne();
    expect(signals).toEqual([limits[0], limits[0]]);
    expect(limits).toHaveLength(1);
  });
});

it('the terms of an integration are read after a refusal only, also after the second send', async () => {
  const asked: number[] = [];
  const terms = (answers: Sender['send']): Sender => ({
    send: answers,
    refreshCredential: async () => false,
    retryTerms: async ({ attempt }) => {
      asked.push(attempt);
      return { base_interval_ms: 60_000 };
    },
  });
  await setUp(() => ACCEPTED, { sender: terms(async () => ACCEPTED) }).deliverOne();
  expect(asked).toEqual([]);
  const { row } = await setUp(() => ACCEPTED, { sender: terms(async () => refused('AUTH_TEMPORARY')) }).deliverOne();
  expect(asked).toEqual([1]);
  expect(row?.next_retry_at).toBe(later(2 * 60_000));
});

describe('a send that is not made', () => {
  it('because its content will never be readable says why, and is a dead letter', async () => {
    const contents = { read: async () => Promise.reject(new ContentUnreadableError('its content is gone')) };
    const { report, row, records } = await setUp(() => ACCEPTED, { contents }).deliverOne();
    expect(report?.disposition).toEqual({ do: 'dead_letter' });
    const said = saidOf('FORMAT_ERROR', 1, 'its content is gone');
    expect(row).toEqual(settledRow({ ...said.row, ...deadLetter('FORMAT_ERROR') }));
    expect(records).toEqual([retryRecord({ ...said.record, failure_reason: 'FORMAT_ERROR' })]);
  });

  it.each([
    ['an error', new RangeError('someone@example.com'), 'RangeError'],
    ['a value', 'someone@example.com', 'not an Error'],
  ])('because storage fails names %s, and quotes nothing', async (_, thrown, name) => {
    const contents = { read: async () => Promise.reject(thrown) };
    const { row, records } = await setUp(() => ACCEPTED, { contents }).deliverOne();
    const said = saidOf('UNKNOWN', 1, `The content could not be read: ${name}`);
    expect(row).toEqual(settledRow({ ...said.row, ...UNCOUNTED, ...dueAgain(5 * MINUTE) }));
    const error_details = JSON.stringify({ error: name });
    const next_retry_at = later(5 * MINUTE);
    expect(records).toEqual([retryRecord({ ...said.record, error_details, next_retry_at, uncounted: true })]);
  });

  it.each([
    ['an error', new RangeError('someone@example.com'), 'RangeError'],
    ['a value', 'someone@example.com', 'not an Error'],
  ])('because the sender throws %s counts, and its details are its name', async (_, thrown, name) => {
    const { row, records } = await setUp(() => Promise.reject(thrown)).deliverOne();
    const said = saidOf('UNKNOWN', 1, `The sender failed: ${name}`);
    expect(row).toEqual(settledRow({ ...said.row, ...dueAgain(10 * MINUTE) }));
    const error_details = JSON.stringify({ error: name });
    expect(records).toEqual([retryRecord({ ...said.record, error_details, next_retry_at: later(10 * MINUTE) })]);
  });

  it('in time says so, and counts', async () => {
    const timeout = new AbortController();
    timeout.abort();
    const { row } = await setUp(() => new Promise(() => {}), {
      inSendTime: (send) => send(timeout.signal),
    }).deliverOne();
    const { row: said } = saidOf('NETWORK_TIMEOUT', 1, 'The provider did not answer in time.');
    expect(row).toEqual(settledRow({ ...said, ...dueAgain(10 * MINUTE) }));
  });
});

describe('what the gate learns of the provider', () => {
  const fails = async (error: unknown) => Promise.reject(error);
  const notAsked = { ok: false, asked: false } as const;

  it.each([
    [
      'nothing, when the content will never be readable',
      { contents: { read: () => fails(new ContentUnreadableError('gone')) } },
      { ...notAsked, error_type: 'FORMAT_ERROR', message: 'gone' },
    ],
    [
      'nothing, when storage fails',
      { contents: { read: () => fails(new RangeError('x')) } },
      {
        ...notAsked,
        error_type: 'UNKNOWN',
        counted: false,
        message: 'The content could not be read: RangeError',
        details: { error: 'RangeError' },
      },
    ],
    [
      'nothing, when the sender breaks',
      { sender: { send: () => fails(new TypeError('x')) } },
      { ...notAsked, error_type: 'UNKNOWN', message: 'The sender failed: TypeError', details: { error: 'TypeError' } },
    ],
    ['its answer', {}, refused('AUTH_FAILED')],
  ] as const)('is %s', async (_, deps, expected) => {
    const reported: unknown[] = [];
    const report = async (result: unknown) => reported.push(result) === 0;
    const gate: ProviderGate = { admit: async () => ({ do: 'send', report }) };
    await setUp(() => refused('AUTH_FAILED'), { gate, ...deps }).deliverOne();
    expect(reported).toEqual([expected]);
  });

  it('is nothing without a breaker: all is let through, and no failure is excused', async () => {
    const admission = await PASS_THROUGH.admit(dueRow(), false);
    expect(admission.do).toBe('send');
    expect(admission.do === 'send' && (await admission.report(refused('UNKNOWN')))).toBe(false);
  });
});
