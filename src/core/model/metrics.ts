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
   * channel's; `newsletter-job`: every function that moves an email on.
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
    | 'unsubscribe';
  /** Names of the other dimensions. */
  readonly by: readonly ('channel' | 'error_type')[];
  readonly meaning: string;
  /**
   * Written also while nothing happens, and thus paid for the whole month: with full monitoring only, or also with
   * critical, whose alarms read it.
   */
  readonly idle?: 'full' | 'critical';
  /** The one channel that has it. */
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

export const METRICS = {
  // Channel functions
  Attempts: { ...send, meaning: 'calls to the provider' },
  Delivered: { ...send, meaning: 'attempts that the provider accepted' },
  Retries: { ...send, meaning: 'attempts that were no first send, and that nobody asked for' },
  RetriesDelivered: { ...send, meaning: 'retries among these that the provider accepted' },
  ManualRetries: { ...send, meaning: 'retries that end users asked for, through the API' },
  Retried: { ...send, meaning: 'attempts after which another one is planned' },
  Stopped: { ...send, meaning: 'given up without a dead letter' },
  DeadLettered: { ...send, meaning: 'given up, and waiting for an operator in the DLQ; unreadable messages too' },
  FailedAttempts: { ...sendByError, meaning: 'attempts that the provider refused' },
  GivenUp: { ...sendByError, meaning: 'given up, by failure_reason' },
  SendDuration: { ...send, unit: 'Milliseconds', meaning: 'from the call to the provider to its answer' },
  ProcessingDelay: { ...send, unit: 'Seconds', meaning: 'from the time an attempt was due to its start' },
  LaneDelay: { ...send, unit: 'Seconds', meaning: 'the part of ProcessingDelay after the message was queued' },
  Faults: { ...send, meaning: 'messages that came back because of a fault of ours, not of a provider' },
  Held: { ...send, meaning: 'attempts held because a breaker is open' },
  Paced: { ...send, meaning: 'messages postponed because the provider allows no more now' },
  PacingWait: { ...send, unit: 'Seconds', meaning: 'time that attempts of a batch waited for their turn' },
  BreakersOpened: { ...send, meaning: 'breakers that opened' },
  BreakersClosed: { ...send, meaning: 'breakers that closed' },
  FailedOver: { ...send, meaning: 'notifications continued on their fallback channel' },
  // Dispatcher; dry runs are not counted
  Sweeps: { ...sweep, idle: 'critical', meaning: 'scheduled sweeps that reached the end of the work index' },
  SweepDue: { ...sweep, idle: 'full', meaning: 'notifications that a sweep found due' },
  SweepDispatched: { ...sweep, idle: 'full', meaning: 'notifications that a sweep queued' },
  SweepSkipped: {
    ...sweep,
    idle: 'full',
    meaning: 'due notifications that a sweep did not queue, as their lane has a backlog',
  },
  SweepDuration: { ...sweep, idle: 'full', unit: 'Milliseconds', meaning: 'one invocation of the dispatcher' },
  EntriesSetAside: { ...sweep, meaning: 'malformed rows that a sweep took out of the work index' },
  // Due-indexer
  RowsIndexed: { ...indexer, meaning: 'rows of other writers that entered the work index' },
  RowsSetAside: { ...indexer, meaning: 'rows of other writers that break a rule' },
  RowsOutdated: { ...indexer, meaning: 'rows of other writers that have changed since; the later image counts' },
  RowsFailed: { ...indexer, meaning: 'rows of other writers that storage refused for the moment; they are read again' },
  // Reconciler; dry runs are not counted
  RowsScanned: { ...reconciler, idle: 'critical', meaning: 'rows of NotificationLog that the reconciler looked at' },
  RowsMissed: { ...reconciler, idle: 'critical', meaning: 'rows among these that the due-indexer never took in' },
  // Monitor
  OldestDueAge: {
    ...monitor,
    idle: 'critical',
    unit: 'Seconds',
    meaning: 'how long the oldest due notification has been due',
  },
  DeadNotifications: { ...monitor, idle: 'full', meaning: 'notifications that wait for an operator' },
  OpenBreakers: { ...monitor, idle: 'full', meaning: 'breakers that are open' },
  SendRate: {
    ...monitor,
    idle: 'full',
    only: 'email',
    meaning: 'sends per second that the budget plans now; e-mail only',
  },
  DailyQuota: { ...monitor, idle: 'full', only: 'email', meaning: 'recipients that SES allows in 24 hours' },
  DailyQuotaUsed: { ...monitor, idle: 'full', only: 'email', meaning: 'recipients of the last 24 hours' },
  PausedUses: {
    ...monitor,
    idle: 'full',
    only: 'email',
    meaning: 'uses of the budget that get nothing now: newsletter, info, standard, express',
  },
  DeadNotificationsReported: {
    ...monitor,
    idle: 'full',
    by: [],
    meaning: 'dead notifications that a notice reported to operators',
  },
  // Delivery events
  DeliveryEvents: { ...events, meaning: 'delivery events that found their notification' },
  IgnoredEvents: { ...events, meaning: 'delivery events that belong to none of our attempts' },
  Bounced: { ...events, meaning: 'notifications that bounced, or that their recipient complained about' },
  Reconciled: { ...events, meaning: 'uncertain attempts that an event showed to be delivered' },
  // Newsletters
  NewslettersFailed: {
    ...newsletterJob,
    meaning: 'emails that failed: not, or only partially sent, or with recipients that were refused',
  },
  NewsletterCountsOff: { ...newsletterJob, meaning: 'emails whose count was off by 1 % or more' },
  NewslettersStalled: {
    ...newsletterJob,
    meaning: 'deaths of senders and preparations of emails, and their work that nobody took for 20 minutes',
  },
  NewsletterUncertain: {
    from: 'newsletter-send',
    by: [],
    unit: 'Count',
    meaning: 'uncertain recipients of batches that were sent',
  },
  NewsletterEvents: { ...newsletterEvents, meaning: 'events of newsletters that found their recipient' },
  IgnoredNewsletterEvents: { ...newsletterEvents, meaning: 'events of test mails and of recipients that do not exist' },
  NewsletterDelivered: { ...newsletterEvents, meaning: 'recipients whose server took a newsletter' },
  NewsletterBounced: { ...newsletterEvents, meaning: 'recipients of newsletters that bounced for good' },
  NewsletterComplained: { ...newsletterEvents, meaning: 'recipients who marked a newsletter as spam' },
  NewsletterReconciled: { ...newsletterEvents, meaning: 'uncertain recipients that events showed to be accepted' },
  Unsubscriptions: {
    from: 'unsubscribe',
    by: [],
    unit: 'Count',
    meaning: 'uses of unsubscribe links, repeated ones too',
  },
  // Intake API
  Accepted: { ...intake, by: ['channel'], meaning: 'notifications accepted' },
  IdempotentRequests: { ...intake, meaning: 'requests with an idempotency key' },
  IdempotentRepeats: { ...intake, meaning: 'requests among these whose key an earlier one has, refused ones too' },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;

export function definitionOf(name: MetricName): MetricDefinition {
  return METRICS[name];
}

const NEWSLETTER_SERVICES = ['newsletter-prepare', 'newsletter-send', 'newsletter-clock', 'api-emails'] as const;

/** The functions that emit a metric, by the value of their dimension `service`. */
export function servicesOf(name: MetricName): readonly string[] {
  const { from } = METRICS[name];
  if (from === 'newsletter-job') return NEWSLETTER_SERVICES;
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
