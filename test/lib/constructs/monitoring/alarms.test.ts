import { readdirSync, readFileSync } from 'node:fs';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { METRICS, type MetricName, servicesOf } from '../../../../src/core/model/metrics.ts';
import {
  type AlarmJson,
  alarmsOf,
  dashboardOf,
  isRinging,
  type Reading,
  readingsOfAlarm,
  readingsOfDashboard,
} from '../../../support/lib/cloudwatch.ts';
import { resourcesOf, templateOf } from '../../../support/lib/synthesize.ts';

const root = new URL('../../../../', import.meta.url);
const runbook = readFileSync(new URL('docs/runbook.md', root), 'utf8');

let template: Template;
/** The template of a stage that changes every threshold. */
let changed: Template;
beforeAll(() => {
  template = templateOf({
    stage: 'dev',
    'notification-retry.monitoring': 'full',
    'notification-retry.outcomes': true,
    'notification-retry.verifySchedule': 'rate(1 day)',
  });
  changed = templateOf({
    'notification-retry.alarms.deadLettersPerHour': 20,
    'notification-retry.alarms.retryFailurePercent': 8,
    'notification-retry.alarms.retryFailureMinimum': 77,
    'notification-retry.alarms.processingDelayMinutes': 10,
    'notification-retry.alarms.sweepMissingHours': 5,
    'notification-retry.alarms.oldestDueMinutes': 30,
    'notification-retry.alarms.functionErrors': 3,
    'notification-retry.alarms.functionThrottles': 4,
    'notification-retry.alarms.openBreakers': 1,
    'notification-retry.alarms.indexerLagMinutes': 30,
    'notification-retry.outcomes': true,
    'notification-retry.alarms.outcomesLagMinutes': 20,
    'notification-retry.alarms.indexerFailures': 6,
    'notification-retry.alarms.idempotentRepeatPercent': 60,
    'notification-retry.alarms.idempotentRepeatMinimum': 77,
    'notification-retry.alarms.newsletterComplaintPercent': 0.2,
    'notification-retry.alarms.newsletterBouncePercent': 3,
    'notification-retry.alarms.newsletterRateMinimum': 77,
    'notification-retry.alarms.newsletterUncertain': 9,
    'notification-retry.alarms.newsletterStalls': 4,
    'notification-retry.alarms.newsletterDeadLetters': 6,
    'notification-retry.monitoring': 'full',
    'notification-retry.alarmEmails': ['oncall@your-domain.jp'],
    'notification-retry.notices.language': 'ja',
    'notification-retry.monitorSchedule': 'rate(20 minutes)',
  });
});

it('the monitor writes its notices in the language of the stage', () => {
  const environments = resourcesOf(changed, 'AWS::Lambda::Function').map(({ properties }) => properties['Environment']);
  expect(environments).toContainEqual({ Variables: expect.objectContaining({ NOTICES_LANGUAGE: 'ja' }) });
});

describe('the runbook', () => {
  const sections = alarmSections();

  it('has a section for each alarm, and no other', () => {
    const alarms = new Set(alarmsOf(template).map(({ section }) => section));
    expect([...sections.keys()].sort()).toEqual([...alarms].sort());
  });

  it.each([...sections])('says of %s what the alarm means, and how to look, to fix and to verify', (_, text) => {
    for (const part of ['**Means**', '**Look**', '**Fix**', '**Verify**']) expect(text).toContain(part);
  });

  it('gives the severity of each alarm', () => {
    for (const { section, severity } of alarmsOf(template)) expect(sections.get(section)).toContain(`*${severity}*`);
  });
});

describe('an alarm', () => {
  it('is named after stage, section and subject, and gives its severity and its section of the runbook', () => {
    for (const { name, section, description } of alarmsOf(template)) {
      expect(name).toMatch(new RegExp(`^notification-retry-dev-${section}(-[a-z-]+)?$`));
      expect(description).toMatch(/^\[(critical|warning)\] .+\. What to do: docs\/runbook\.md#[a-z-]+$/);
    }
  });

  it('goes to the topic, when it rings and when it is over', () => {
    const topic = [{ Ref: expect.stringContaining('AlertsTopic') }];
    for (const { properties } of alarmsOf(template)) {
      expect(properties).toMatchObject({ AlarmActions: topic, OKActions: topic });
    }
  });

  it.each([
    ['dead-letters-growing', 'deadLettersPerHour', 10, 20],
    ['retry-failures-slack', 'retryFailurePercent', 5, 8],
    ['processing-delay-teams', 'processingDelayMinutes', 300, 600],
    ['oldest-due', 'oldestDueMinutes', 7200, 1800],
    ['function-errors-dispatcher', 'functionErrors', 0, 3],
    ['function-throttles-send-webhook', 'functionThrottles', 0, 4],
    ['breaker-open', 'openBreakers', 0, 1],
    ['indexer-lag', 'indexerLagMinutes', 900_000, 1_800_000],
    ['outcomes-lag', 'outcomesLagMinutes', 900_000, 1_200_000],
    ['indexer-failures', 'indexerFailures', 0, 6],
    ['idempotent-repeats', 'idempotentRepeatPercent', 50, 60],
    ['newsletter-complaints', 'newsletterComplaintPercent', 0.1, 0.2],
    ['newsletter-bounces', 'newsletterBouncePercent', 5, 3],
    ['newsletter-uncertain', 'newsletterUncertain', 0, 9],
    ['newsletter-stalled', 'newsletterStalls', 2, 4],
    ['newsletter-dead-letters-job', 'newsletterDeadLetters', 0, 6],
    ['newsletter-dead-letters-events', 'newsletterDeadLetters', 0, 6],
  ])('%s takes its threshold from alarms.%s', (name, _, standard, given) => {
    expect(alarmNamed(name).Threshold).toBe(standard);
    expect(alarmNamed(name, changed).Threshold).toBe(given);
  });

  it.each(['retry-failures-email', 'idempotent-repeats'])(
    '%s needs a minimum of requests or attempts for a rate',
    (name) => {
      expect(JSON.stringify(alarmNamed(name))).toContain('IF(all >= 20, 100 * ');
      expect(JSON.stringify(alarmNamed(name, changed))).toContain('IF(all >= 77, 100 * ');
    },
  );

  it('judges retries apart from first sends', () => {
    const text = JSON.stringify(alarmNamed('retry-failures-email'));
    expect(text).toContain('"MetricName":"RetriesDelivered"');
    expect(text).not.toContain('"MetricName":"Attempts"');
  });

  it('watches errors and throttles of every function', () => {
    for (const { id } of resourcesOf(changed, 'AWS::Lambda::Function')) {
      for (const MetricName of ['Errors', 'Throttles']) {
        template.hasResourceProperties('AWS::CloudWatch::Alarm', {
          Namespace: 'AWS/Lambda',
          MetricName,
          Dimensions: [{ Name: 'FunctionName', Value: { Ref: id } }],
        });
      }
    }
  });

  it('watches the age of the stream, what storage refuses the indexer, and what the reconciler finds', () => {
    expect(alarmNamed('indexer-lag')).toMatchObject({
      Namespace: 'AWS/Lambda',
      MetricName: 'IteratorAge',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: expect.stringContaining('DueIndexer') } }],
    });
    expect(alarmNamed('indexer-failures')).toMatchObject({ MetricName: 'RowsFailed', EvaluationPeriods: 2 });
    expect(alarmNamed('rows-missed')).toMatchObject({ MetricName: 'RowsMissed', Threshold: 0 });
  });

  it.each([
    ['newsletter-failed', 'NewslettersFailed', 'an email that was not, or only partially sent'],
    ['newsletter-count-off', 'NewsletterCountsOff', 'a count that is off by 1 %'],
  ])('%s rings at the first %s: %s', (name, metric) => {
    const { Metrics: read, ...alarm } = alarmNamed(name);
    expect(alarm).toMatchObject({
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
      EvaluationPeriods: 1,
      TreatMissingData: 'notBreaching',
    });
    expect(JSON.stringify(read ?? alarm)).toContain(metric);
  });

  it.each(['complaints', 'bounces'])('newsletter-%s rings at its percentage, and not only above it', (name) => {
    expect(alarmNamed(`newsletter-${name}`)).toMatchObject({ ComparisonOperator: 'GreaterThanOrEqualToThreshold' });
  });

  it('newsletter-quota rings as soon as the quota of e-mail pauses a use', () => {
    expect(alarmNamed('newsletter-quota')).toMatchObject({
      MetricName: 'PausedUses',
      Dimensions: expect.arrayContaining([{ Name: 'channel', Value: 'email' }]),
      Statistic: 'Maximum',
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
    });
  });

  it('newsletter-complaints needs a minimum of recipients for a rate', () => {
    const expression = (minimum: number) => `IF(all >= ${minimum}, 100 * (FILL(part, 0)) / all, 0)`;
    expect(JSON.stringify(alarmNamed('newsletter-complaints'))).toContain(expression(1000));
    expect(JSON.stringify(alarmNamed('newsletter-complaints', changed))).toContain(expression(77));
  });

  it('newsletter-bounces counts whose mail bounced among the recipients: a list of nothing but bad addresses rings', () => {
    const all = '(FILL(all, 0) + FILL(part, 0))';
    const expression = (minimum: number) => `IF(${all} >= ${minimum}, 100 * (FILL(part, 0)) / ${all}, 0)`;
    expect(JSON.stringify(alarmNamed('newsletter-bounces'))).toContain(expression(1000));
    expect(JSON.stringify(alarmNamed('newsletter-bounces', changed))).toContain(expression(77));
  });

  it.each([
    ['job', 'newsletter-dead-letter'],
    ['events', 'newsletter-events-dead-letter'],
  ])('watches the dead letters of newsletters: %s', (of, queue) => {
    const name = `notification-retry-dev-${queue}`;
    const [id] = Object.keys(template.findResources('AWS::SQS::Queue', { Properties: { QueueName: name } }));
    expect(alarmNamed(`newsletter-dead-letters-${of}`)).toMatchObject({
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': [id, 'QueueName'] } }],
    });
  });

  it('sums the deaths of an hour over all channels: ten in each are forty, and a redrive takes none away', () => {
    const deaths = { MetricStat: { Metric: { MetricName: 'DeadLettered' }, Period: 3600, Stat: 'Sum' } };
    expect(alarmNamed('dead-letters-growing')).toMatchObject({
      TreatMissingData: 'notBreaching',
      Threshold: 10,
      Metrics: [
        { Expression: 'SUM([FILL(email, 0), FILL(slack, 0), FILL(teams, 0), FILL(webhook, 0)])' },
        ...Array(4).fill(deaths),
      ],
    });
  });
});

describe('the alarm on a missing sweep', () => {
  const expected = (hours: number) => ({
    Metrics: [
      { Expression: 'FILL(sweeps, 0)' },
      { MetricStat: { Metric: { MetricName: 'Sweeps' }, Period: 3600, Stat: 'Sum' } },
    ],
    EvaluationPeriods: hours,
    Threshold: 1,
    ComparisonOperator: 'LessThanThreshold',
    TreatMissingData: 'breaching',
  });
  /** Hours without a sweep, after many with one, until CloudWatch rings. */
  const hoursUntil = (alarm: AlarmJson) => {
    const swept = (ago: number) => (without: number) => (ago < without ? {} : { sweeps: 1 });
    return Array.from({ length: 12 }, (_, hours) => hours).find((hours) =>
      isRinging(alarm, (ago) => swept(ago)(hours)),
    );
  };

  it('rings after two hours without one, by what CloudWatch computes', () => {
    expect(alarmNamed('sweep-missing')).toMatchObject(expected(2));
    expect(hoursUntil(alarmNamed('sweep-missing'))).toBe(2);
  });

  it('rings after the hours that the stage configures', () => {
    expect(alarmNamed('sweep-missing', changed)).toMatchObject(expected(5));
    expect(hoursUntil(alarmNamed('sweep-missing', changed))).toBe(5);
  });

  it('would ring three hours later if CloudWatch took older points for the missing ones', () => {
    const [, sweeps] = alarmNamed('sweep-missing').Metrics ?? [];
    const bare = { ...alarmNamed('sweep-missing'), Metrics: [{ Id: 'e', Expression: 'sweeps' }, sweeps ?? {}] };
    expect(hoursUntil(bare)).toBe(5);
  });

  it('is not alone: what is oldest rings in the first period without the monitor', () => {
    const young = { email: 10, slack: 0, teams: 0, webhook: 0 };
    const alarm = alarmNamed('oldest-due');
    expect(isRinging(alarm, () => young)).toBe(false);
    expect(isRinging(alarm, (ago) => (ago === 0 ? {} : young))).toBe(true);
    expect(isRinging(alarm, (ago) => (ago === 0 ? { ...young, teams: 7201 } : young))).toBe(true);
  });

  it.each([
    ['two pauses of a schedule that pauses longer', 'rate(6 hours)', 12],
    ['a week at most, as far as CloudWatch looks back', 'rate(10 days)', 168],
  ])('waits for %s', (_, schedule, hours) => {
    const rare = templateOf({ 'notification-retry.schedule': schedule });
    expect(alarmNamed('sweep-missing', rare)).toMatchObject(expected(hours));
  });
});

it('the alarm on a missing verification rings two pauses after the last one, and not before the first one', () => {
  const alarm = alarmNamed('verification-missing');
  const rings = (last: number) => isRinging(alarm, (ago) => (ago === last ? { ended: 1 } : {}));
  expect(Array.from({ length: 60 }, (_, last) => last).find(rings)).toBe(48);
  expect(rings(Number.POSITIVE_INFINITY)).toBe(false);
  // Whatever it was: what rings does so until the next one ends.
  expect(alarm.TreatMissingData).toBe('ignore');
});

describe('what alarms and the dashboard read', () => {
  const services = new Set([...readdirSync(new URL('functions', root)), 'newsletter-job']);
  const own = (): Reading[] =>
    [...alarmsOf(template).flatMap(readingsOfAlarm), ...readingsOfDashboard(template)].filter(
      ({ namespace }) => namespace === 'notification-retry/dev',
    );

  it('is in the catalogue, with exactly its dimensions', () => {
    expect(own().length).toBeGreaterThan(50);
    for (const { name, dimensions } of own()) {
      const definition = METRICS[name as MetricName];
      expect(definition, name).toBeDefined();
      expect(Object.keys(dimensions).sort(), name).toEqual(['service', ...definition.by].sort());
    }
  });

  it('comes from the function that emits it, for the same channel', () => {
    for (const { name, dimensions } of own()) {
      const { service, channel } = dimensions;
      if (service !== undefined && service !== '*') expect(servicesOf(name as MetricName)).toContain(service);
      if (service?.startsWith('send-') && channel !== '*') expect(service).toBe(`send-${channel}`);
      if (service !== '*') expect(services).toContain(service);
    }
  });

  it('is every metric that an operator must not miss', () => {
    const read = new Set(own().map(({ name }) => name));
    for (const name of ['Delivered', 'DeadNotifications', 'OldestDueAge', 'OpenBreakers', 'FailedAttempts', 'Sweeps']) {
      expect(read).toContain(name);
    }
  });
});

describe('the dashboard', () => {
  it('answers in its first row whether notifications are delivered', () => {
    const { widgets } = dashboardOf(template);
    const first = widgets.filter(({ y }) => y === 0);
    expect(first.map(({ properties }) => properties['title'])).toEqual([
      'Delivered in an hour',
      'Dead, waiting for an operator',
      'Oldest due (s)',
      'Providers down',
    ]);
    for (const { properties } of first) {
      expect(properties['view']).toBe('singleValue');
      expect(JSON.stringify(properties['metrics'])).toContain('"color":"#');
    }
  });

  it.each([
    ['Budget of e-mail: sends a second', ['SendRate', 'Attempts', 'NewsletterDelivered']],
    ['Budget of e-mail: 24 hours', ['DailyQuota', 'DailyQuotaUsed']],
    ['Postponed by a budget', ['Paced']],
    ['Newsletters: deliveries', ['NewsletterDelivered']],
    [
      'Newsletters: bounces, complaints, unsubscriptions',
      ['NewsletterBounced', 'NewsletterComplained', 'Unsubscriptions'],
    ],
    ['Newsletters: failed, stalled, uncertain', ['NewslettersFailed', 'NewslettersStalled', 'NewsletterUncertain']],
  ])('has the graph "%s" of %s', (title, names) => {
    const graph = dashboardOf(template).widgets.find(({ properties }) => properties['title'] === title);
    for (const name of names) expect(JSON.stringify(graph?.properties['metrics'])).toContain(`"${name}"`);
  });

  it('has a name after its region: an account has each name once, in all of its regions', () => {
    template.hasResourceProperties('AWS::CloudWatch::Dashboard', {
      DashboardName: { 'Fn::Join': ['', ['notification-retry-dev-', { Ref: 'AWS::Region' }]] },
    });
  });

  it('shows the state of every alarm', () => {
    const status = dashboardOf(template).widgets.find(({ type }) => type === 'alarm');
    expect(status?.properties['alarms']).toHaveLength(alarmsOf(template).length);
  });
});

describe('the topic', () => {
  it('is encrypted with a key that CloudWatch may use, and refuses unencrypted connections', () => {
    template.hasResourceProperties('AWS::SNS::Topic', {
      KmsMasterKeyId: { 'Fn::GetAtt': [Match.stringLikeRegexp('AlertsKey'), 'Arn'] },
    });
    const cloudwatch = { Service: 'cloudwatch.amazonaws.com' };
    template.hasResourceProperties('AWS::KMS::Key', {
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({ Principal: cloudwatch, Action: ['kms:Decrypt', 'kms:GenerateDataKey*'] }),
        ]),
      },
    });
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({ Effect: 'Allow', Principal: cloudwatch, Action: 'sns:Publish' }),
        ]),
      },
    });
  });

  it('sends mail to the addresses of the stage, and by default to nobody', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    changed.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'oncall@your-domain.jp' });
  });
});

it('the monitor runs every five minutes, or on the schedule of the stage', () => {
  template.hasResourceProperties('AWS::Events::Rule', { ScheduleExpression: 'rate(5 minutes)' });
  changed.hasResourceProperties('AWS::Events::Rule', { ScheduleExpression: 'rate(20 minutes)' });
  // The window covers three runs, so that a late run is no missing run.
  expect(JSON.stringify(alarmNamed('oldest-due', changed))).toContain('"Period":3600');
});

function alarmNamed(name: string, from = template) {
  const found = alarmsOf(from).find((alarm) => alarm.name === `notification-retry-dev-${name}`);
  if (found === undefined) throw new Error(`there is no alarm ${name}`);
  return found.properties;
}

/** The sections of the chapter on alarms by their names. */
function alarmSections(): Map<string, string> {
  const [, chapter = ''] = /^## Alarms$(.*?)^## /ms.exec(runbook) ?? [];
  const sections = chapter.split(/^### /m).slice(1);
  return new Map(sections.map((text) => [text.slice(0, text.indexOf('\n')).trim(), text]));
}
