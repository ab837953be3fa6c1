import { CHANNELS, type Channel } from './channels.ts';

/**
 * Every metric there is: code emits these and no others, alarms and the dashboard read these and no others. None has a
 * dimension of high cardinality: never an id, a tenant or an address. CloudWatch knows a metric by its name and exactly
 * its dimensions, so these are part of the name: `service`, and what `by` adds.
 */
export interface MetricDefinition {
  readonly unit: 'Count' | 'Milliseconds' | 'Seconds';
  /** The function that emits it, which is its dimension `service`: a folder under functions/; `send` is each channel's. */
  readonly from: 'send' | 'dispatcher' | 'due-indexer' | 'monitor' | 'delivery-events' | 'api-intake';
  /** Names of its further dimensions. */
  readonly by: readonly ('channel' | 'error_type')[];
  readonly meaning: string;
}

const send = { from: 'send', by: ['channel'], unit: 'Count' } as const;
const sendByError = { ...send, by: ['channel', 'error_type'] } as const;
const sweep = { from: 'dispatcher', by: [], unit: 'Count' } as const;
const indexer = { from: 'due-indexer', by: [], unit: 'Count' } as const;
const monitor = { from: 'monitor', by: ['channel'], unit: 'Count' } as const;
const events = { from: 'delivery-events', by: ['channel'], unit: 'Count' } as const;
const intake = { from: 'api-intake', by: [], unit: 'Count' } as const;

export const METRICS = {
  // Channel functions
  Attempts: { ...send, meaning: 'calls to the provider' },
  Delivered: { ...send, meaning: 'attempts that the provider accepted' },
  Retried: { ...send, meaning: 'attempts after which another one is planned' },
  Stopped: { ...send, meaning: 'given up without a dead letter' },
  DeadLettered: { ...send, meaning: 'given up, to wait for an operator in the DLQ' },
  FailedAttempts: { ...sendByError, meaning: 'attempts that the provider refused' },
  GivenUp: { ...sendByError, meaning: 'given up, by failure_reason' },
  SendDuration: { ...send, unit: 'Milliseconds', meaning: 'from the call to the provider to its answer' },
  ProcessingDelay: { ...send, unit: 'Seconds', meaning: 'from when an attempt was due to when it began' },
  LaneDelay: { ...send, unit: 'Seconds', meaning: 'the part of it after the message was queued' },
  Faults: { ...send, meaning: 'messages that came back because of us, not of a provider' },
  Held: { ...send, meaning: 'attempts put off because a breaker is open' },
  BreakersOpened: { ...send, meaning: 'breakers that opened' },
  BreakersClosed: { ...send, meaning: 'breakers that closed' },
  FailedOver: { ...send, meaning: 'notifications continued on their fallback channel' },
  // Dispatcher; dry runs are not counted
  Sweeps: { ...sweep, meaning: 'scheduled sweeps that came to their end' },
  SweepDue: { ...sweep, meaning: 'notifications that a sweep found due' },
  SweepDispatched: { ...sweep, meaning: 'notifications that a sweep queued' },
  SweepSkipped: { ...sweep, meaning: 'notifications that a sweep left, as their lane has a backlog' },
  SweepDuration: { ...sweep, unit: 'Milliseconds', meaning: 'one invocation of the dispatcher' },
  // Due-indexer
  RowsIndexed: { ...indexer, meaning: 'rows of others that were taken in' },
  RowsSetAside: { ...indexer, meaning: 'rows of others that break a rule' },
  RowsOutdated: { ...indexer, meaning: 'rows of others that have changed since; their later image counts' },
  // Monitor
  OldestDueAge: { ...monitor, unit: 'Seconds', meaning: 'how long the oldest due notification has been due' },
  DeadNotifications: { ...monitor, meaning: 'notifications that wait for an operator' },
  OpenBreakers: { ...monitor, meaning: 'breakers that are open' },
  DeathsTold: { ...monitor, by: [], meaning: 'dead notifications that a notice told operators of' },
  // Delivery events
  DeliveryEvents: { ...events, meaning: 'delivery events that found their notification' },
  IgnoredEvents: { ...events, meaning: 'delivery events of no attempt of ours' },
  Bounced: { ...events, meaning: 'notifications that bounced, or drew a complaint' },
  Reconciled: { ...events, meaning: 'uncertain attempts that an event showed to be delivered' },
  // Intake API
  Accepted: { ...intake, by: ['channel'], meaning: 'notifications taken in' },
  IdempotentRequests: { ...intake, meaning: 'requests with an idempotency key' },
  IdempotentRepeats: { ...intake, meaning: 'of these, those that were answered before' },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;

/** The functions that emit a metric, by the value of their dimension `service`. */
export function servicesOf(name: MetricName): readonly string[] {
  const { from } = METRICS[name];
  return from === 'send' ? CHANNELS.map((channel) => `send-${channel}`) : [from];
}

/** The metric's dimensions but `error_type`, by which alone it cannot be asked for one value. */
export function dimensionsOf(name: MetricName, channel: Channel): Readonly<Record<string, string>> {
  const { from, by } = METRICS[name];
  const names: readonly string[] = by;
  return {
    service: from === 'send' ? `send-${channel}` : from,
    ...(names.includes('channel') && { channel }),
  };
}
