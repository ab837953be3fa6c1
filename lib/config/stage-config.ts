import type { PerLane } from '../../src/core/model/channels.ts';
import type { Priority } from '../../src/core/model/priorities.ts';
import type { IndexShards } from '../../src/core/model/work/index-shards.ts';
import type { FunctionName } from './function-memory.ts';

/** The numbers of days that CloudWatch Logs accepts as a retention. */
export const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;

/** A stage's configuration, checked and with every default filled in. */
export interface StageConfig {
  /** Part of every name. `prod` keeps its data: deletion protection, and nothing is removed with the stack. */
  readonly stage: string;
  /** The From address of e-mails. The address or its domain is verified in SES. */
  readonly senderAddress: string;
  /** An existing SES configuration set, which gets a destination for events. Absent: the stack makes a set. */
  readonly configurationSet?: string;
  /** From addresses that e-mail integrations may use in place of senderAddress. The role may send as no others. */
  readonly integrationSenders: readonly string[];
  /** Configuration sets that e-mail integrations may name, and those that SES applies to a sender by itself. */
  readonly integrationConfigurationSets: readonly string[];
  /** When the dispatcher sweeps: EventBridge cron or rate, UTC; every hour at minute 30 (batch-952 §1). */
  readonly schedule: string;
  /** A scheduled sweep fills a lane with what it takes in so many minutes, 1 to 60; 5. */
  readonly laneMinutes: number;
  /** Minutes between two looks for rows of others that are urgent or important and due, 0 to 60; 5, and 0 for none. */
  readonly urgentSweepMinutes: number;
  /** The unit of backoff in seconds, 1 to 86,400; 300 (batch-952 §5.1). */
  readonly baseIntervalSeconds: number;
  /** Retries after the first send, per priority, 0 to 100 (batch-952 §5.2). */
  readonly maxRetries: PerPriority;
  /** Hours from the first attempt in which a retry may be made, per priority, at most two weeks (batch-952 §5.2). */
  readonly retentionHours: PerPriority;
  /** When a provider counts as down, and how it is tried again (docs/decisions/delivery/breaker.md#0040). */
  readonly breaker: BreakerSettings;
  /** How much of SES's allowance is used, and by what (docs/decisions/delivery/pacing.md#0096). */
  readonly pacing: PacingSettings;
  readonly newsletter: NewsletterSettings;
  /** Most concurrent batches per lane, 2 to 1,000 (Lambda's range for maximumConcurrency). */
  readonly concurrency: Readonly<PerLane<number>>;
  /** Most notifications per batch and lane, 1 to 100; 10. */
  readonly batchSize: Readonly<PerLane<number>>;
  /** Seconds that Lambda waits for a full batch, per lane, 0 to 20; 1, at least 1 for batches of more than ten. */
  readonly batchWindowSeconds: Readonly<PerLane<number>>;
  /**
   * Over how many partitions the indexes are spread (docs/decisions/delivery/storage-layout.md#0138). Rows that exist
   * stay where they are.
   */
  readonly indexShards: IndexShards;
  /** Memory per function, 128 to 10,240 megabytes; 256, and 512 for the newsletters' job. CPU grows with it. */
  readonly memoryMb: Readonly<Record<FunctionName, number>>;
  /**
   * Concurrency that Lambda keeps for dispatcher and senders. Absent: none
   * (docs/decisions/aws/lanes-and-functions.md#0090).
   */
  readonly reservedConcurrency?: ReservedConcurrency;
  /** Ports beside 443 to which webhooks, Slack and Teams are posted. An integration may have ports of its own. */
  readonly webhookPorts: readonly number[];
  /** When the monitor measures: EventBridge cron or rate, UTC; every five minutes. */
  readonly monitorSchedule: string;
  /** The zone of times that writers write without one: a name such as Asia/Tokyo; UTC. */
  readonly timeZone: string;
  /** When the reconciler looks for rows that were never taken in: EventBridge cron or rate, UTC, or `off`; daily. */
  readonly reconcileSchedule: string;
  /** Read units that it may use per second; 50. */
  readonly reconcileReadUnits: number;
  /** Addresses that get alarms and notices, once they confirm SNS's message. Others subscribe to the topic. */
  readonly alarmEmails: readonly string[];
  readonly alarms: AlarmThresholds;
  /** Limits of the API for all keys together. Each key has a limit of its own besides. And whose pages may call it. */
  readonly api: ApiSettings;
  /** The console on the web: `off`, or how people sign in (docs/decisions/console/access.md#0147). */
  readonly console: 'off' | ConsoleSettings;
  /** Days that log lines are kept; 90. */
  readonly logRetentionDays: (typeof LOG_RETENTION_DAYS)[number];
  /** The least important log lines that are written; INFO. */
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

export type PerPriority = Readonly<Record<Priority, number>>;

export interface BreakerSettings {
  /** The breaker judges only if the window has at least this many notifications; 5. */
  readonly minSamples: number;
  /** The breaker opens if at least this share of them failed, 0.1 to 1; 0.8. */
  readonly failureShare: number;
  /** Length of the window in seconds; 120. */
  readonly windowSeconds: number;
  /** Seconds from opening to the first probe; 30. Each probe that fails doubles them, up to maxIntervalSeconds. */
  readonly intervalSeconds: number;
  readonly maxIntervalSeconds: number;
  /** What a provider gets per second when it is back; it doubles every five seconds up to the provider's budget; 20. */
  readonly drainPerSecond: number;
}

export interface ReservedConcurrency {
  /** The account's limit of concurrent executions in this region: `aws lambda get-account-settings`. */
  readonly accountLimit: number;
  /** Invocations that are kept for the dispatcher; 5. The senders get what `concurrency` allows them. */
  readonly dispatcher: number;
}

/** The allowance of e-mail. SES itself says what the account may send. */
export interface PacingSettings {
  /** E-mails a second that are never exceeded, if SES allows more. Absent: SES's own rate. */
  readonly maxPerSecond?: number;
  /** E-mails in 24 hours that are never exceeded, if SES allows more. Absent: SES's own quota. */
  readonly maxPerDay?: number;
  /** E-mails a second while SES cannot be asked; 10. */
  readonly fallbackPerSecond: number;
  /** Share of the allowance that only urgent and important e-mails may use, 0 to 0.9; 0.1. */
  readonly expressShare: number;
  /** Largest share of the allowance that newsletters may use, 0 to 0.9; 0.7. */
  readonly newsletterShare: number;
}

export interface NewsletterSettings {
  /** Batches of one email that are sent at once, 1 to 10; 2 (batch-sending-service-job.md, 最大並列度). */
  readonly batchConcurrency: number;
  /** Batches of all emails that are sent at once, 2 to 1,000; 10. */
  readonly totalConcurrency: number;
  /** Retries of a storage call before a call to SES, 0 to 100; 10 (batch-sending-service-job.md, リトライ仕様). */
  readonly storageRetriesBeforeSending: number;
  /** Minutes in which these retries are made, 1 to 60; 10. */
  readonly storageMinutesBeforeSending: number;
  /** Retries of a storage call that records an answer of SES, 0 to 100; 20. */
  readonly storageRetriesAfterSending: number;
  /** Minutes in which these retries are made, 1 to 60; 30. */
  readonly storageMinutesAfterSending: number;
  /** Seconds before the first retry of a storage call, 1 to 300; each further pause is twice as long; 2. */
  readonly storagePauseSeconds: number;
  /** Retries of a call that SES refused for the time being, 0 to 100; 6. */
  readonly providerRetries: number;
  /** Retries of a call that SES answered with 503, 0 to 100; 30. */
  readonly overloadedRetries: number;
  /** Seconds before the first retry of a call to SES, 1 to 300; each further pause is twice as long; 10. */
  readonly providerPauseSeconds: number;
  /** Minutes for which events may still resolve an uncertain recipient before `resend` takes it, 0 to 1,440; 15. */
  readonly uncertainMinutes: number;
  /** When the clock looks for emails whose time has come: EventBridge cron or rate, UTC; every minute. */
  readonly clockSchedule: string;
  /** From addresses of newsletters, or `*@domain`. Empty: every address at the domain of senderAddress. */
  readonly senders: readonly string[];
}

/** An alarm rings above its threshold. docs/runbook.md has a section for each alarm. */
export interface AlarmThresholds {
  /** Growth of a channel's dead-letter queue (retry-and-idempotency-design.md §6). */
  readonly deadLettersPerHour: number;
  /** Percentage of a channel's retries in 15 minutes that fail, if there are at least retryFailureMinimum of them. */
  readonly retryFailurePercent: number;
  readonly retryFailureMinimum: number;
  /** Time from queue to attempt, on average of five minutes. */
  readonly processingDelayMinutes: number;
  /** Hours without a scheduled sweep. Absent: 2, or two pauses of the schedule if these are longer. */
  readonly sweepMissingHours?: number;
  /** How long a notification may be due. Absent: 120, or two pauses of the schedule if these are longer. */
  readonly oldestDueMinutes?: number;
  /** Errors of any one function in five minutes. */
  readonly functionErrors: number;
  /** Throttles of any one function in five minutes. */
  readonly functionThrottles: number;
  /** How long rows of others may wait in the stream; 15. */
  readonly indexerLagMinutes: number;
  /** Rows that storage refused for the moment, in five minutes; 0. */
  readonly indexerFailures: number;
  readonly openBreakers: number;
  /** Percentage of an hour's requests that repeat their key, if at least idempotentRepeatMinimum have a key. */
  readonly idempotentRepeatPercent: number;
  readonly idempotentRepeatMinimum: number;
  /** Percentage of a day's recipients who mark newsletters as spam, if at least newsletterRateMinimum got one. */
  readonly newsletterComplaintPercent: number;
  /** Percentage of a day's recipients whose address bounces for good, if at least newsletterRateMinimum got one. */
  readonly newsletterBouncePercent: number;
  readonly newsletterRateMinimum: number;
  /** Recipients of batches that end in five minutes of whom nobody knows whether they got the mail. */
  readonly newsletterUncertain: number;
  /** How often the clock may find a newsletter in a quarter of an hour that nobody works on. */
  readonly newsletterStalls: number;
  /** Messages in a dead-letter queue of newsletters. */
  readonly newsletterDeadLetters: number;
}

export interface ApiSettings {
  /** Requests per second; 500. */
  readonly rateLimit: number;
  /** Requests at once; 1,000. */
  readonly burstLimit: number;
  /** Origins whose web pages may call the API; none. */
  readonly corsOrigins: readonly string[];
}

/** How people sign in to the console, and what makes one of them an operator. */
export type ConsoleSettings = ConsoleRoles &
  (
    | {
        /** An OIDC issuer: the URL below which /.well-known/openid-configuration is. */
        readonly issuer: string;
        /** The public client (PKCE, no secret) that the issuer knows the console as; the audience of its tokens. */
        readonly clientId: string;
        /** What the page asks for; `openid email profile`. Some issuers renew tokens only with `offline_access`. */
        readonly scope?: string;
      }
    | {
        /** A user pool that the stack makes. */
        readonly cognito: {
          /** Of the address of the sign-in page, `<prefix>.auth.<region>.amazoncognito.com`; unique in the region. */
          readonly domainPrefix: string;
        };
      }
  );

export interface ConsoleRoles {
  /** The claim of the access token that names groups or roles. Absent: `cognito:groups`, or `groups` of an issuer. */
  readonly roleClaim?: string;
  /** Values of the claim that make an operator; `operator`. */
  readonly operators: readonly string[];
  /** Values of the claim that make a viewer; `viewer`. Who has neither gets nothing. */
  readonly viewers: readonly string[];
}

/** Production keeps its data when someone deletes a stack or a table by mistake. */
export function isProduction(config: Pick<StageConfig, 'stage'>): boolean {
  return config.stage === 'prod';
}
