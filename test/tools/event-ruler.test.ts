import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { matches, matchesAny } from '../../src/local/emulator/events/event-filter.ts';
import type { JsonObject } from '../../src/local/support/json.ts';
import { SES_EVENTS } from '../corpus/ses-events/cases.ts';
import { eventOf } from '../support/lib/ses-rules.ts';
import { templateOf } from '../support/lib/synthesize.ts';
import { type EventRule, eventRules, streamFilters } from '../support/tools/deployed-patterns.ts';
import { askEventRuler, type Question } from '../support/tools/event-ruler.ts';
import { SES_SAMPLES } from '../support/tools/ses-samples.ts';
import { EVENT_RULER, hasTool } from '../support/tools/tools.ts';

const SAMPLES = 1_000;

describe.skipIf(!hasTool('event-ruler', join(EVENT_RULER, 'Match.class')))(
  'AWS’s own matching',
  { timeout: 60_000 },
  () => {
    let filters: JsonObject[];
    let rules: EventRule[];
    beforeAll(() => {
      const template = templateOf({ stage: 'dev' });
      filters = streamFilters(template);
      rules = eventRules(template);
      expect(filters.length).toBeGreaterThan(0);
      expect(rules.length).toBeGreaterThan(0);
    });

    /** For each record, whether one of the stream's filters lets it pass. */
    const passes = (records: readonly object[]): boolean[] => {
      const answers = askEventRuler(
        records.flatMap((event) => filters.map((pattern): Question => ({ pattern, event }))),
      );
      return records.map((_, index) =>
        answers.slice(index * filters.length, (index + 1) * filters.length).includes(true),
      );
    };

    it('lets through the stream what the indexer has to see, and nothing else', () => {
      const records = [...WAKING, ...SLEEPING].map(([, row]) => changeOf(row));
      const passed = passes(records);
      const named = [...WAKING, ...SLEEPING].map(([name], index) => [name, passed[index]]);
      expect(named).toEqual([...WAKING.map(([name]) => [name, true]), ...SLEEPING.map(([name]) => [name, false])]);
    });

    it('lets rows through that were changed, and none that expire', () => {
      const failed = { send_status: { S: 'FAILED' } };
      expect(passes([changeOf(failed, 'MODIFY'), changeOf(failed, 'REMOVE')])).toEqual([true, false]);
    });

    it('judges rows as the local runtime does, whatever their columns hold', () => {
      const records = fc.sample(anyChange, { numRuns: SAMPLES, seed: 20_260_301 });
      const ours = records.map((record) => matchesAny(filters, record));
      expect(ours).toContain(true);
      expect(ours).toContain(false);
      expect(passes(records)).toEqual(ours);
    });

    it.each([
      ['delivery', /Delivery[0-9A-F]{8}$/],
      ['open', /Open[0-9A-F]{8}$/],
      ['complaint', /Complaint[0-9A-F]{8}$/],
      ['bounceWithStatus', /BounceWithStatus[0-9A-F]{8}$/],
      ['bounceWithoutStatus', /Bounce[0-9A-F]{8}$/],
      ['reject', /Failure[0-9A-F]{8}$/],
      ['renderingFailure', /Failure[0-9A-F]{8}$/],
    ] as const)('gives SES’s event %s to one rule', (name, id) => {
      const event = SES_SAMPLES[name];
      const answers = askEventRuler(rules.map(({ pattern }) => ({ pattern, event })));
      expect(rules.filter((_, index) => answers[index]).map((rule) => rule.id)).toEqual([expect.stringMatching(id)]);
    });

    it.each([
      ['retry', { 'ses:configuration-set': 'notification-retry-dev', log_id: 'log-1', attempt: '2' }],
      [
        'newsletter',
        { 'ses:configuration-set': 'notification-retry-dev-newsletters', email_id: 'e', chunk: 'c', n: '1' },
      ],
    ] as const)('gives each event of the corpus to one rule at most: %s', (of, tags) => {
      const events = SES_EVENTS.map((one) => eventOf(one, tags));
      const answers = askEventRuler(events.flatMap((event) => rules.map(({ pattern }) => ({ pattern, event }))));
      const counts = SES_EVENTS.map(({ name }, index) => [
        name,
        answers.slice(index * rules.length, (index + 1) * rules.length).filter(Boolean).length,
      ]);
      expect(counts).toEqual(SES_EVENTS.map((one) => [one.name, one[of] === null ? 0 : 1]));
    });

    it('gives a bounce for several recipients to one rule, whoever of them has a status', () => {
      const { bounceWithStatus: event } = SES_SAMPLES;
      const [one, other] = [{ emailAddress: 'a@example.com', status: '5.1.1' }, { emailAddress: 'b@example.com' }];
      const events = [
        [one, other],
        [other, one],
        [one, one],
        [other, other],
      ].map((bouncedRecipients) => ({
        ...event,
        detail: { ...event.detail, bounce: { ...event.detail.bounce, bouncedRecipients } },
      }));
      const answers = askEventRuler(
        events.flatMap((bounce) => rules.map(({ pattern }) => ({ pattern, event: bounce }))),
      );
      const counts = events.map(
        (_, index) => answers.slice(index * rules.length, (index + 1) * rules.length).filter(Boolean).length,
      );
      expect(counts).toEqual([1, 1, 1, 1]);
    });

    it('gives no rule an event that tells us nothing, or that is of a mail of others', () => {
      const { send, click, deliveryDelay, delivery } = SES_SAMPLES;
      const { mail } = delivery.detail;
      const { log_id: _, ...untagged } = mail.tags;
      const others = [
        { ...delivery, source: 'custom.ses' },
        { ...delivery, detail: { ...delivery.detail, mail: { ...mail, tags: untagged } } },
        {
          ...delivery,
          detail: {
            ...delivery.detail,
            mail: { ...mail, tags: { ...mail.tags, 'ses:configuration-set': ['theirs'] } },
          },
        },
      ];
      const events = [send, click, deliveryDelay, ...others];
      const answers = askEventRuler(events.flatMap((event) => rules.map(({ pattern }) => ({ pattern, event }))));
      expect(answers).not.toContain(true);
    });

    it('judges SES’s events as the local runtime does, whatever they lack', () => {
      const events = fc.sample(anySesEvent, { numRuns: SAMPLES / 5, seed: 20_260_301 });
      const questions = events.flatMap((event) => rules.map(({ pattern }) => ({ pattern, event })));
      const ours = questions.map(({ pattern, event }) => matches(pattern, event));
      expect(ours).toContain(true);
      expect(askEventRuler(questions)).toEqual(ours);
    });
  },
);

type Row = Readonly<Record<string, object>>;

const WORK_QUEUE = { work_queue: { S: 'due#normal#1' } };
const HISTORY = { history_bucket: { S: '2026-11-21#3' } };

const OURS: Row = { updated_by: { S: 'notification-retry' } };
const CORRECTED: Row = { recipient_address: { S: 'yamada@example.com' }, message_body: { S: '本文' } };

const WAKING: readonly (readonly [name: string, row: Row])[] = [
  ['a failed row of BATCH-951', { send_status: { S: 'FAILED' }, next_retry_at: { S: '2026-11-21T08:30:00.000Z' } }],
  ['a row that was not sent yet', { send_status: { S: 'PENDING' } }],
  ['a row that others retry', { send_status: { S: 'RETRY' } }],
  ['a row with a status that does not exist', { send_status: { S: 'failed' } }],
  ['a row with an empty status', { send_status: { S: '' } }],
  ['a row without a status', { tenant_id: { S: 'TENANT001' } }],
  ['a row with a number for a status', { send_status: { N: '4' } }],
  ['a row with a set for a status', { send_status: { SS: ['FAILED', 'SUCCESS'] } }],
  ['a row whose failure_reason is null', { send_status: { S: 'FAILED' }, failure_reason: { NULL: true } }],
  ['a row whose work_queue is a number', { send_status: { S: 'FAILED' }, work_queue: { N: '1' } }],
  ['a row that others delivered', { send_status: { S: 'SUCCESS' } }],
  ["a row with its writer's own failure_reason", { send_status: { S: 'FAILED' }, failure_reason: { S: 'full' } }],
  ["a row with its writer's own index keys", { ...WORK_QUEUE, send_status: { S: 'FAILED' } }],
  ['a row of ours that another writer changed', { ...HISTORY, ...WORK_QUEUE, updated_by: { S: 'BATCH-951' } }],
  ['a row in work, corrected', { ...OURS, ...HISTORY, ...WORK_QUEUE, ...CORRECTED, send_status: { S: 'RETRY' } }],
  ['a delivered row, corrected', { ...OURS, ...HISTORY, ...CORRECTED, send_status: { S: 'SUCCESS' } }],
];

const SLEEPING: readonly (readonly [name: string, row: Row])[] = [
  ['a row in the work index', { ...OURS, ...HISTORY, ...WORK_QUEUE, send_status: { S: 'FAILED' } }],
  ['a row that waits for its retry', { ...OURS, ...HISTORY, ...WORK_QUEUE, send_status: { S: 'RETRY' } }],
  ['a row that is claimed', { ...OURS, ...HISTORY, ...WORK_QUEUE, send_status: { S: 'SENDING' } }],
  ['a row that was given up', { ...OURS, send_status: { S: 'FAILED' }, failure_reason: { S: 'INVALID_RECIPIENT' } }],
  ['a row that we delivered', { ...HISTORY, send_status: { S: 'SUCCESS' } }],
  ['a row that others are sending', { ...CORRECTED, send_status: { S: 'SENDING' } }],
  ['a claimed row, corrected', { ...OURS, ...WORK_QUEUE, ...CORRECTED, send_status: { S: 'SENDING' } }],
];

function changeOf(row: Row, eventName = 'INSERT') {
  return {
    eventID: '7de3041dd709b024af6f29e4fa13d34c',
    eventName,
    eventVersion: '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: 'us-east-1',
    dynamodb: {
      ApproximateCreationDateTime: 1_772_361_000,
      Keys: { log_id: { S: 'NL001' } },
      ...(eventName !== 'REMOVE' && { NewImage: { log_id: { S: 'NL001' }, ...row } }),
      SequenceNumber: '4421584500000000017450439091',
      SizeBytes: 26,
      StreamViewType: 'NEW_IMAGE',
    },
    eventSourceARN: 'arn:aws:dynamodb:us-east-1:123456789012:table/NotificationLog/stream/2026-03-01T00:00:00.000',
  };
}

/** An attribute as a stream shows it, of any type that DynamoDB has. */
const anyAttribute = fc.oneof(
  fc.constantFrom('FAILED', 'PENDING', 'RETRY', 'SENDING', 'SUCCESS', '', 'due#normal#1').map((S) => ({ S })),
  fc.integer().map((N) => ({ N: String(N) })),
  fc.boolean().map((BOOL) => ({ BOOL })),
  fc.constant({ NULL: true }),
  fc.constant({ SS: ['FAILED', 'SUCCESS'] }),
  fc.constant({ NS: ['1', '2'] }),
  fc.constant({ L: [{ S: 'FAILED' }, { N: '1' }] }),
  fc.constant({ L: [] }),
  fc.constant({ M: { S: { S: 'FAILED' } } }),
  fc.constant({ M: {} }),
  fc.constant({ B: 'RkFJTEVE' }),
  fc.constant({ BS: ['RkFJTEVE'] }),
);

const anyChange = fc
  .tuple(
    fc.record(
      {
        send_status: anyAttribute,
        work_queue: anyAttribute,
        failure_reason: anyAttribute,
        history_bucket: anyAttribute,
        message_body: anyAttribute,
        updated_by: fc.oneof(anyAttribute, fc.constant({ S: 'notification-retry' })),
      },
      { requiredKeys: [] },
    ),
    fc.constantFrom('INSERT', 'MODIFY', 'REMOVE'),
  )
  .map(([row, eventName]): JsonObject => JSON.parse(JSON.stringify(changeOf(row, eventName))));

/**
 * A sample event that may lack tags, be of another configuration set, or bounce for several recipients. All recipients have
 * a status, or none has: of a list AWS asks whether any of its items has a field, the local runtime asks each item.
 */
const anySesEvent = fc
  .record({
    event: fc.constantFrom(...Object.values(SES_SAMPLES)),
    tags: fc.record(
      {
        'ses:configuration-set': fc.constantFrom(
          ['notification-retry-dev'],
          ['theirs'],
          ['notification-retry-dev', 'x'],
        ),
        log_id: fc.constant(['NL-1']),
        attempt: fc.constantFrom(['3'], ['3', '4']),
      },
      { requiredKeys: [] },
    ),
    recipients: fc.integer({ min: 1, max: 2 }),
    status: fc.option(fc.constant('5.1.1'), { nil: undefined }),
  })
  .map(({ event, tags, recipients, status }): JsonObject => {
    const copy = JSON.parse(JSON.stringify(event));
    copy.detail.mail.tags = tags;
    if (copy.detail.bounce) copy.detail.bounce.bouncedRecipients = Array(recipients).fill({ status });
    return JSON.parse(JSON.stringify(copy));
  });
