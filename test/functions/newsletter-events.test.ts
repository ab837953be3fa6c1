import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { SQSEvent } from 'aws-lambda';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { METRICS } from '../../src/core/model/metrics.ts';
import { countStates } from '../../src/core/newsletter/accounting/counts.ts';
import { UnreadableChunkError } from '../../src/core/newsletter/model/batch.ts';
import { countBits } from '../../src/core/newsletter/model/batch-events.ts';
import { DEFAULT_JOB_LIMITS, SOURCE_RETRIES } from '../../src/core/newsletter/model/job-limits.ts';
import type { EventStore } from '../../src/core/newsletter/model/ports.ts';
import { MemoryChunks, MemoryEmails } from '../../tools/simulation/twins/newsletter-items.ts';
import { SES_EVENTS } from '../corpus/ses-events/cases.ts';
import { deployedRules, eventOf } from '../support/lib/ses-rules.ts';
import { batchRow, recipient } from '../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T11:00:00.000Z');
const place = { email_id: 'email-1', batch_id: '00000', chunk: 0 };

const message = (event: string, n: number | string, more: object = {}) =>
  JSON.stringify({
    version: 1,
    event,
    at: NOW.toISOString(),
    email_id: 'email-1',
    chunk: '00000-0',
    n: String(n),
    ...more,
  });
const bounce = (type: string, sub_type: string, status?: string) => ({
  bounce: { type, sub_type, ...(status && { status }) },
});

describe('the function of newsletter events', () => {
  let createHandler: typeof import('../../functions/newsletter-events/handler.ts')['createHandler'];
  let tables: MemoryEmails;
  let chunks: MemoryChunks;
  let events: EventStore;
  let suppressed: [string, string][];
  let counted: Map<string, number>;

  beforeAll(async () => {
    const tablesEnv = { EMAILS_TABLE: 'e', EMAIL_BATCHES_TABLE: 'b', EMAIL_RECIPIENTS_TABLE: 'r', MEMBERS_TABLE: 'm' };
    Object.assign(process.env, {
      ...tablesEnv,
      DATA_KEYS_TABLE: 'k',
      PIPELINE_STATE_TABLE: 'p',
      NEWSLETTER_RETRIES: JSON.stringify(SOURCE_RETRIES),
      LOCAL_SECRETS_FILE: 'none.json',
      POWERTOOLS_METRICS_NAMESPACE: 'test',
      AWS_REGION: 'us-east-1',
    });
    ({ createHandler } = await import('../../functions/newsletter-events/handler.ts'));
  });
  beforeEach(() => start('ssss'));

  async function start(states: string, status: 'submitting' | 'submitted' = 'submitted'): Promise<void> {
    tables = new MemoryEmails(() => NOW);
    chunks = new MemoryChunks();
    events = tables.events;
    suppressed = [];
    await tables.batches.put(batchRow({ counts: countStates(states), status }));
    const recipients = [...states].map((_, n) => recipient(n));
    const maps = { reasons: {}, tries: {}, unanswered: {}, message_ids: {}, processed: {} };
    const state = { ...place, version: 1, states, ...maps };
    await chunks.store.put([{ chunk: { ...place, tenant_id: 'tenant-1', recipients }, state }]);
  }

  async function handle(...bodies: string[]): Promise<string[]> {
    const metrics = new Metrics({ namespace: 'test' });
    counted = new Map();
    vi.spyOn(metrics, 'addMetric').mockImplementation((name, _, value) => {
      counted.set(name, (counted.get(name) ?? 0) + value);
      return metrics;
    });
    const deps = {
      emails: tables.emails,
      batches: tables.batches,
      chunks: chunks.store,
      events,
      members: {
        suppress: async (_: string, hash: string, { reason }: { reason: string }) =>
          void suppressed.push([hash, reason]),
        read: async () => undefined,
      },
      sealing: { emailHash: async (_: string, email: string) => `hash of ${email}` },
      warming: { report: async () => {} },
      clock: () => NOW,
      limits: DEFAULT_JOB_LIMITS,
    };
    const Records = bodies.map((body, i) => ({ messageId: String(i), body }));
    const { batchItemFailures } = await createHandler(deps, { logger: new Logger({ logLevel: 'SILENT' }), metrics })({
      Records,
    } as SQSEvent);
    for (const name of counted.keys()) expect(Object.keys(METRICS)).toContain(name);
    return batchItemFailures.map(({ itemIdentifier }) => bodies[Number(itemIdentifier)] ?? '');
  }

  const bits = async () => {
    const found = await tables.events.read('email-1', '00000');
    return Object.fromEntries(Object.entries(found.bits).map(([kind, one]) => [kind, countBits(one)]));
  };
  const states = async () => (await chunks.store.readState(place))?.states;

  it.each([
    ['Send', {}, { accepted: 1 }],
    ['Delivery', {}, { accepted: 1, delivered: 1 }],
    ['Open', {}, { accepted: 1, opened: 1 }],
    ['Open', { machine: 'true' }, { accepted: 1, machine_opened: 1 }],
    ['Click', { machine: false }, { accepted: 1, clicked: 1 }],
    ['Click', { machine: true }, { accepted: 1, machine_clicked: 1 }],
    ['Complaint', {}, { accepted: 1, complained: 1 }],
    ['Bounce', bounce('Permanent', 'General', '5.1.1'), { accepted: 1, bounced: 1 }],
    ['Bounce', bounce('Transient', 'MailboxFull', '4.2.2'), { accepted: 1, soft_bounced: 1 }],
    ['Bounce', bounce('Undetermined', 'Undetermined'), { accepted: 1 }],
    ['Bounce', bounce('Transient', 'General'), { accepted: 1 }],
  ])('counts %s %j once, however often it comes', async (event, more, expected) => {
    const body = message(event, 2, more);
    expect(await handle(body, body)).toEqual([]);
    expect(await handle(body)).toEqual([]);
    expect(await bits()).toEqual(expected);
  });

  it('knows when the mail was sent that SES sent on, and which one it refused late', async () => {
    const sent = (second: number) => ({ sent_at: `2026-03-01T10:00:0${second}.5Z` });
    await handle(message('Delivery', 0, sent(1)), message('Reject', 1, { ...sent(3), provider_message_id: 'one' }));
    await handle(message('Reject', 2, { sent_at: 'yesterday', provider_message_id: '?' }));
    expect((await states())?.slice(0, 3)).toBe('sff');
    expect(await tables.events.read('email-1', '00000')).toMatchObject({
      went_on_at: '2026-03-01T10:00:01.500Z',
      late_refusals: { rejected: { 1: '2026-03-01T10:00:03.500Z' } },
    });
  });

  it('suppresses an address that bounced for good, or whose owner complained', async () => {
    await handle(message('Bounce', 0, bounce('Permanent', 'General')), message('Complaint', 1), message('Delivery', 2));
    await handle(message('Bounce', 3, bounce('Transient', 'MailboxFull')));
    // The receiving server refused our sender or our text, and knows the address.
    await handle(message('Bounce', 3, bounce('Permanent', 'General', '5.7.26')));
    expect(suppressed).toEqual([
      ['hash of m0@example.com', 'bounced'],
      ['hash of m1@example.com', 'complained'],
    ]);
  });

  it.each([
    ['have expired', async () => undefined],
    ['can never be read', async () => Promise.reject(new UnreadableChunkError('altered'))],
  ])('suppresses by what the event says of the address where its recipients %s', async (_, readChunk) => {
    vi.spyOn(chunks.store, 'readChunk').mockImplementation(readChunk);
    const hashes = ['bounced', 'complained'].map((reason) => reason.padEnd(22, '_'));
    const [bounced, complained] = hashes;
    const bodies = [
      message('Bounce', `0-${bounced}`, bounce('Permanent', 'General')),
      message('Complaint', `49-${complained}`),
    ];
    expect(await handle(...bodies)).toEqual([]);
    expect(suppressed).toEqual([
      [bounced, 'bounced'],
      [complained, 'complained'],
    ]);
  });

  it.each(['submitting', 'submitted'] as const)(
    'shows an uncertain recipient of a %s batch to be submitted',
    async (status) => {
      await start('uusu', status);
      await handle(message('Send', 0), message('Delivery', 3));
      expect(await states()).toBe('suss');
      expect(await tables.batches.read('email-1', '00000')).toMatchObject({ counts: { submitted: 3, uncertain: 1 } });
      expect(counted.get('NewsletterReconciled')).toBe(2);
    },
  );

  it('moves what SES rejected after all to failed, with the reason', async () => {
    await start('ssu');
    await handle(message('Reject', 0), message('Rendering Failure', 2));
    expect(await states()).toBe('fsf');
    expect(await tables.batches.read('email-1', '00000')).toMatchObject({
      counts: { failed: 2, submitted: 1, uncertain: 0 },
      failed_by_reason: { rejected: 1, rendering_failure: 1 },
    });
  });

  it('keeps a rejection that came before the record of its call', async () => {
    await start('>s', 'submitting');
    const body = message('Reject', 0);
    expect(await handle(body)).toEqual([body]);
    const state = await chunks.store.readState(place);
    if (state === undefined) throw new Error('no state');
    const { email_id: _, batch_id: __, chunk: ___, version: ____, ...rest } = state;
    await chunks.store.change(state, { ...rest, states: 'ss' });
    expect(await handle(body)).toEqual([]);
    expect(await states()).toBe('fs');
  });

  it('sends what it cannot read to the dead letters, and no neighbour with it', async () => {
    const bad = [
      '{}',
      'no json',
      message('Delivery', 50),
      message('Delivery', '1-short'),
      message('Delivery', 1, { chunk: '../x-0' }),
    ];
    expect(await handle(...bad, message('Delivery', 1))).toEqual(bad);
    expect(await bits()).toEqual({ accepted: 1, delivered: 1 });
  });

  it('is done with events of nobody: test mails, removed emails, kinds that tell nothing', async () => {
    const none = [
      message('Delivery', 0, { chunk: 'test-0' }),
      message('Delivery', 0, { email_id: 'gone' }),
      message('Delivery', 0, { chunk: '00000-7' }),
      message('DeliveryDelay', 0),
    ];
    expect(await handle(...none)).toEqual([]);
    expect(await bits()).toEqual({});
    expect(counted.get('IgnoredNewsletterEvents')).toBe(4);
  });

  it('keeps the events of a batch that storage refuses, and applies the others', async () => {
    await tables.batches.put(batchRow({ batch_id: '00001' }));
    const { read } = tables.events;
    const refuse = () => Promise.reject(new Error('throttled'));
    events = { ...tables.events, read: (id, batch) => (batch === '00001' ? refuse() : read(id, batch)) };
    const other = message('Delivery', 0, { chunk: '00001-0' });
    expect(await handle(other, message('Delivery', 0))).toEqual([other]);
    expect(await bits()).toEqual({ accepted: 1, delivered: 1 });
  });

  it('loses no bit to another invocation, and writes once for a batch of events', async () => {
    const { read, change } = tables.events;
    let writes = 0;
    let interrupted = false;
    events = {
      ...tables.events,
      async read(id, batch) {
        const found = await read(id, batch);
        if (!interrupted) {
          interrupted = true;
          await change(found, { bits: { opened: new Uint8Array([1]) } });
        }
        return found;
      },
      change: (found, next) => {
        writes += 1;
        return change(found, next);
      },
    };
    await handle(message('Delivery', 0), message('Delivery', 1), message('Delivery', 2));
    expect(writes).toBe(2);
    expect(await bits()).toEqual({ opened: 1, accepted: 3, delivered: 3 });
  });

  describe('through the deployed rules', () => {
    const tags = { email_id: 'email-1', chunk: '00000-0', n: '1' };
    let rules: ReturnType<typeof deployedRules>;
    beforeAll(() => {
      rules = deployedRules();
    });

    it.each(SES_EVENTS.map((one) => [one.name, one] as const))(
      'counts %s, and lets nobody be named',
      async (_, one) => {
        const bodies = await rules(
          eventOf(one, { 'ses:configuration-set': 'notification-retry-dev-newsletters', ...tags }),
        );
        expect(bodies).toHaveLength(one.newsletter === null ? 0 : 1);
        expect(bodies.join()).not.toMatch(/private|secret|@/);
        if (one.newsletter === null) return;
        expect(await handle(...bodies)).toEqual([]);
        expect(await bits()).toEqual(Object.fromEntries(one.newsletter.bits.map((kind) => [kind, 1])));
        expect(suppressed.map(([, reason]) => reason)).toEqual([one.newsletter.suppressed ?? []].flat());
        const state = await chunks.store.readState(place);
        expect(state?.reasons[1]).toBe(one.newsletter.failed);
        expect(state?.states).toBe(one.newsletter.failed === undefined ? 'ssss' : 'sfss');
      },
    );
  });
});
