import { CHANNELS, type Channel } from './channels.ts';

/**
 * One of our metrics. Code emits only the metrics of this file, and alarms and the dashboard read only these. No
 * dimension has high cardinality: never an id, a tenant or an address. CloudWatch identifies a metric by its name and
 * its exact dimensions: `service`, and those in `by`.
 */
export interface MetricDefinition {
  readonly unit: 'Count' | 'Milliseconds' | 'Seconds';
  /**
   * The function that emits the metric, a folder under functions/, and its dimension `service`; `send`: each
   * channel's; `newsletter-job`: whichever function moves an email on, so that an alarm pays for one metric.
   */
  readonly from:
    | 'send'
    | 'dispatcher'
    | 'due-indexer'
    | 'reconciler'
    | 'monitor'
    | 'delivery-events'
    | 'api-intake'
    | 'newsletter-events'
    | 'newsletter-send'
    | 'newsletter-job'
    | 'unsubscribe'
    | 'outcomes'
    | 'verify';
  /** Names of the other dimensions. */
  readonly by: readonly ('channel' | 'error_type')[];
  /** Written also while nothing happens, thus paid all month: with full monitoring, or with critical, too. */
  readonly idle?: 'full' | 'critical';
  readonly only?: Channel;
}

const send = { from: 'send', by: ['channel'], unit: 'Count' } as const;
const sendByError = { ...send, by: ['channel', 'error_type'] } as const;
const sweep = { from: 'dispatcher', by: [], unit: 'Count' } as const;
const indexer = { from: 'due-indexer', by: [], unit: 'Count' } as const;
const reconciler = { from: 'reconciler', by: [], unit: 'Count' } as const;
const monitor = { from: 'monitor', by: ['channel'], unit: 'Count' } as const;
const events = { from: 'delivery-events', by: ['channel'], unit: 'Count' } as const;
const newsletterEvents = { from: 'newsletter-events', by: [], unit: 'Count' } as const;
const newsletterJob = { from: 'newsletter-job', by: [], unit: 'Count' } as const;
const intake = { from: 'api-intake', by: [], unit: 'Count' } as const;

const CATALOGUE = {
  // Channel functions
  Attempts: send, // calls to the provider
  Delivered: send, // attempts that the provider accepted
  Retries: send, // attempts that were no first send, and that nobody asked for
  RetriesDelivered: send, // retries among these that the provider accepted
  ManualRetries: send, // retries that end users asked for, through the API
  Retried: send, // attempts after which another one is planned
  Stopped: send, // given up without a dead letter
  DeadLettered: send, // given up, and waiting for an operator in the DLQ; unreadable messages too
  FailedAttempts: sendByError, // attempts that the provider refused
  GivenUp: sendByError, // given up, by failure_reason
  SendDuration: { ...send, unit: 'Milliseconds' }, // from the call to the provider to its answer
  ProcessingDelay: { ...send, unit: 'Seconds' }, // from the time an attempt was due to its start
  LaneDelay: { ...send, unit: 'Seconds' }, // the part of ProcessingDelay after the message was queued
  Faults: send, // messages that came back because of a fault of ours, not of a provider
  Held: send, // attempts held because a breaker is open
  Paced: send, // messages postponed because the provider allows no more now
  PacingWait: { ...send, unit: 'Seconds' }, // time that attempts of a batch waited for their turn
  BreakersOpened: send, // breakers that opened
  BreakersClosed: send, // breakers that closed
  FailedOver: send, // notifications continued on their fallback channel
  // Dispatcher; dry runs are not counted
  Sweeps: { ...sweep, idle: 'critical' }, // scheduled sweeps that reached the end of the work index
  SweepDue: { ...sweep, idle: 'full' }, // notifications that a sweep found due
  SweepDispatched: { ...sweep, idle: 'full' }, // notifications that a sweep queued
  SweepSkipped: { ...sweep, idle: 'full' }, // due notifications that a sweep did not queue, as their lane has a backlog
  SweepDuration: { ...sweep, idle: 'full', unit: 'Milliseconds' }, // one invocation of the dispatcher
  EntriesSetAside: sweep, // malformed rows that a sweep took out of the work index
  // Due-indexer
  RowsIndexed: indexer, // rows of other writers that entered the work index
  RowsSetAside: indexer, // rows of other writers that break a rule
  RowsOutdated: indexer, // rows of other writers that have changed since; the later image counts
  RowsFailed: indexer, // rows of other writers that storage refused for the moment; they are read again
  // Reconciler; dry runs are not counted
  RowsScanned: { ...reconciler, idle: 'critical' }, // rows of NotificationLog that the reconciler looked at
  RowsMissed: { ...reconciler, idle: 'critical' }, // rows among these that the due-indexer never took in
  // Monitor
  OldestDueAge: { ...monitor, idle: 'critical', unit: 'Seconds' }, // how long the oldest due notification has been due
  DeadNotifications: { ...monitor, idle: 'full' }, // notifications that wait for an operator
  OpenBreakers: { ...monitor, idle: 'full' }, // breakers that are open
  SendRate: { ...monitor, idle: 'full', only: 'email' }, // sends per second that the budget plans now; e-mail only
  DailyQuota: { ...monitor, idle: 'full', only: 'email' }, // recipients that SES allows in 24 hours
  DailyQuotaUsed: { ...monitor, idle: 'full', only: 'email' }, // recipients of the last 24 hours
  /** Uses of the budget that get nothing now: newsletter, info, standard, express. */
  PausedUses: { ...monitor, idle: 'full', only: 'email' },
  /** Dead notifications that a notice reported to operators. */
  DeadNotificationsReported: { ...monitor, idle: 'full', by: [] },
  // Delivery events
  DeliveryEvents: events, // delivery events that found their notification
  IgnoredEvents: events, // delivery events that belong to none of our attempts
  Bounced: events, // notifications that bounced, or that their recipient complained about
  Reconciled: events, // uncertain attempts that an event showed to be delivered
  // Newsletters
  /** Emails that failed: not, or only partially sent, or with recipients that were refused. */
  NewslettersFailed: newsletterJob,
  NewsletterCountsOff: newsletterJob, // emails whose count was off by 1 % or more
  /** Deaths of senders and preparations of emails, and their work that nobody took for 20 minutes. */
  NewslettersStalled: newsletterJob,
  /** Uncertain recipients of batches that were sent. */
  NewsletterUncertain: { from: 'newsletter-send', by: [], unit: 'Count' },
  NewsletterEvents: newsletterEvents, // events of newsletters that found their recipient
  IgnoredNewsletterEvents: newsletterEvents, // events of test mails and of recipients that do not exist
  NewsletterDelivered: newsletterEvents, // recipients whose server took a newsletter
  NewsletterBounced: newsletterEvents, // recipients of newsletters that bounced for good
  NewsletterComplained: newsletterEvents, // recipients who marked a newsletter as spam
  NewsletterReconciled: newsletterEvents, // uncertain recipients that events showed to be accepted
  Unsubscriptions: { from: 'unsubscribe', by: [], unit: 'Count' }, // uses of unsubscribe links, repeated ones too
  // Outcomes
  OutcomesTold: { from: 'outcomes', by: [], unit: 'Count' }, // outcomes that the bus took, repeated ones too
  /** From a change to the outcome on the bus, of the oldest change of a batch. */
  OutcomesLag: { from: 'outcomes', by: [], unit: 'Seconds' },
  // Verification
  Verifications: { from: 'verify', by: [], unit: 'Count' }, // verifications that came to their end
  VerificationViolations: { from: 'verify', by: [], unit: 'Count' }, // rules that they found broken
  // Intake API
  Accepted: { ...intake, by: ['channel'] }, // notifications accepted
  IdempotentRequests: intake, // requests with an idempotency key
  IdempotentRepeats: intake, // requests among these whose key an earlier one has, refused ones too
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof CATALOGUE;

export const METRICS: Readonly<Record<MetricName, MetricDefinition>> = CATALOGUE;

/** The functions that emit a metric, by the value of their dimension `service`. */
export function servicesOf(name: MetricName): readonly string[] {
  const { from } = METRICS[name];
  return from === 'send' ? CHANNELS.map((channel) => `send-${channel}`) : [from];
}

/** The metric's dimensions, except `error_type`, which makes one time series per value. */
export function dimensionsOf(name: MetricName, channel: Channel): Readonly<Record<string, string>> {
  const { from, by } = METRICS[name];
  const names: readonly string[] = by;
  return {
    service: from === 'send' ? `send-${channel}` : from,
    ...(names.includes('channel') && { channel }),
  };
}
