/**
 * Every metric there is: code emits these and no others, alarms and the dashboard read these and no others. None has a
 * dimension of high cardinality: never an id, a tenant or an address.
 */
export interface MetricDefinition {
  readonly unit: 'Count' | 'Milliseconds' | 'Seconds';
  /** Names of its dimensions. */
  readonly by: readonly ('channel' | 'error_type')[];
  readonly meaning: string;
}

export const METRICS = {
  // Channel functions
  Attempts: { unit: 'Count', by: ['channel'], meaning: 'calls to the provider' },
  Delivered: { unit: 'Count', by: ['channel'], meaning: 'attempts that the provider accepted' },
  Retried: { unit: 'Count', by: ['channel'], meaning: 'attempts after which another one is planned' },
  Stopped: { unit: 'Count', by: ['channel'], meaning: 'given up without a dead letter' },
  DeadLettered: { unit: 'Count', by: ['channel'], meaning: 'given up, to wait for an operator in the DLQ' },
  FailedAttempts: { unit: 'Count', by: ['channel', 'error_type'], meaning: 'attempts that the provider refused' },
  GivenUp: { unit: 'Count', by: ['channel', 'error_type'], meaning: 'given up, by failure_reason' },
  SendDuration: { unit: 'Milliseconds', by: ['channel'], meaning: 'from the call to the provider to its answer' },
  ProcessingDelay: { unit: 'Seconds', by: ['channel'], meaning: 'from when an attempt was due to when it began' },
  Faults: { unit: 'Count', by: ['channel'], meaning: 'messages that came back because of us, not of a provider' },
  Held: { unit: 'Count', by: ['channel'], meaning: 'attempts put off because a breaker is open' },
  BreakersOpened: { unit: 'Count', by: ['channel'], meaning: 'breakers that opened' },
  BreakersClosed: { unit: 'Count', by: ['channel'], meaning: 'breakers that closed' },
  FailedOver: { unit: 'Count', by: ['channel'], meaning: 'notifications continued on their fallback channel' },
  // Dispatcher
  SweepDue: { unit: 'Count', by: [], meaning: 'notifications that a sweep found due' },
  SweepDispatched: { unit: 'Count', by: [], meaning: 'notifications that a sweep queued' },
  SweepSkipped: { unit: 'Count', by: [], meaning: 'notifications that a sweep left, as their lane has a backlog' },
  SweepDuration: { unit: 'Milliseconds', by: [], meaning: 'one invocation of the dispatcher' },
  // Monitor
  OldestDueAge: { unit: 'Seconds', by: ['channel'], meaning: 'how long the oldest due notification has been due' },
  DeadNotifications: { unit: 'Count', by: ['channel'], meaning: 'notifications that wait for an operator' },
  OpenBreakers: { unit: 'Count', by: ['channel'], meaning: 'breakers that are open' },
  // Delivery events
  DeliveryEvents: { unit: 'Count', by: ['channel'], meaning: 'delivery events that found their notification' },
  IgnoredEvents: { unit: 'Count', by: ['channel'], meaning: 'delivery events of no attempt of ours' },
  Bounced: { unit: 'Count', by: ['channel'], meaning: 'notifications that bounced, or drew a complaint' },
  Reconciled: { unit: 'Count', by: ['channel'], meaning: 'uncertain attempts that an event showed to be delivered' },
  // Intake API
  Accepted: { unit: 'Count', by: ['channel'], meaning: 'notifications taken in' },
  IdempotentRequests: { unit: 'Count', by: [], meaning: 'requests with an idempotency key' },
  IdempotentRepeats: { unit: 'Count', by: [], meaning: 'of these, those that were answered before' },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
