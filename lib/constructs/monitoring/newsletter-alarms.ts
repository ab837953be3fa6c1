import { ComparisonOperator } from 'aws-cdk-lib/aws-cloudwatch';
import type { StageConfig } from '../../config/stage-config.ts';
import type { AlarmSpec, AlarmSubjects } from './alarm-spec.ts';
import { DAY, FIVE_MINUTES, monitorWindow, percentage, QUARTER, ServiceMetrics } from './service-metrics.ts';

/** The alarms of newsletters (batch-sending-service-job.md, 監視・アラート), and those that mailbox providers judge by. */
export function newsletterAlarms(
  config: StageConfig,
  { job, events: lostEvents }: NonNullable<AlarmSubjects['newsletterFailures']>,
): AlarmSpec[] {
  const { alarms } = config;
  const metrics = new ServiceMetrics(config);
  const events = (name: 'NewsletterDelivered' | 'NewsletterBounced' | 'NewsletterComplained') =>
    metrics.single(name, 'Sum', DAY);
  const atLeast = { comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD };
  const all = events('NewsletterDelivered');
  return [
    {
      name: 'newsletter-failed',
      severity: 'critical',
      meaning: 'A newsletter was not, or only partially sent, or recipients of it were refused',
      metric: metrics.single('NewslettersFailed', 'Sum', FIVE_MINUTES),
      threshold: 0,
    },
    {
      name: 'newsletter-count-off',
      severity: 'warning',
      meaning: 'A newsletter has 1 % more or fewer recipients than were counted',
      metric: metrics.single('NewsletterCountsOff', 'Sum', FIVE_MINUTES),
      threshold: 0,
    },
    {
      name: 'newsletter-stalled',
      severity: 'critical',
      meaning: 'Nobody works on a newsletter that is submitting',
      metric: metrics.single('NewslettersStalled', 'Sum', QUARTER),
      threshold: alarms.newsletterStalls,
    },
    {
      name: 'newsletter-uncertain',
      severity: 'warning',
      meaning: 'Nobody knows whether some recipients of a newsletter got it',
      metric: metrics.single('NewsletterUncertain', 'Sum', FIVE_MINUTES),
      threshold: alarms.newsletterUncertain,
    },
    ...[
      { of: 'job', queue: job, meaning: 'Messages of newsletters were given up; the clock does their work meanwhile' },
      { of: 'events', queue: lostEvents, meaning: 'Events of SES about newsletters were not counted' },
    ].map(({ queue, ...one }) => ({
      ...one,
      name: 'newsletter-dead-letters',
      severity: 'critical' as const,
      metric: queue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: alarms.newsletterDeadLetters,
    })),
    {
      name: 'newsletter-complaints',
      severity: 'critical',
      meaning: `${alarms.newsletterComplaintPercent} % or more of the recipients of a day mark newsletters as spam`,
      metric: percentage('FILL(part, 0)', { all, part: events('NewsletterComplained') }, alarms.newsletterRateMinimum),
      threshold: alarms.newsletterComplaintPercent,
      ...atLeast,
    },
    {
      name: 'newsletter-bounces',
      severity: 'critical',
      meaning: `${alarms.newsletterBouncePercent} % or more of the recipients of a day bounce for good`,
      // A mail that bounced was not delivered: the more bounce, the fewer would count.
      metric: percentage(
        'FILL(part, 0)',
        { all, part: events('NewsletterBounced') },
        alarms.newsletterRateMinimum,
        '(FILL(all, 0) + FILL(part, 0))',
      ),
      threshold: alarms.newsletterBouncePercent,
      ...atLeast,
    },
    {
      name: 'newsletter-quota',
      severity: 'warning',
      meaning: 'The daily quota of e-mail is used up so far that newsletters wait',
      metric: metrics.of('PausedUses', 'email', 'Maximum', monitorWindow(config)),
      threshold: 0,
    },
  ];
}
