import type { Channel, Lane } from '../../src/core/model/channels.ts';
import type { IndexShards } from '../../src/core/model/work/index-shards.ts';
import type { FunctionName } from './function-memory.ts';
import type {
  AlarmThresholds,
  ApiSettings,
  BreakerSettings,
  ConsoleRoles,
  NewsletterSettings,
  PacingSettings,
  PerPriority,
  ReservedConcurrency,
  StageConfig,
} from './stage-config.ts';

type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };
/** Keys that have no default: a user writes them, or they are absent. */
type WithoutDefault = 'stage' | 'senderAddress' | 'configurationSet';
/** Sections that may be absent. */
type OptionalSection = 'reservedConcurrency' | 'console';
type ComputedThreshold = 'sweepMissingHours' | 'oldestDueMinutes';
type OptionalLimit = 'maxPerSecond' | 'maxPerDay';
/** Keys whose value is an object, in which each key has a default. */
type Section =
  | 'maxRetries'
  | 'retentionHours'
  | 'breaker'
  | 'pacing'
  | 'newsletter'
  | 'concurrency'
  | 'batchSize'
  | 'batchWindowSeconds'
  | 'indexShards'
  | 'memoryMb'
  | 'alarms'
  | 'api';

type LanesInput = { readonly [C in Channel]?: Optional<Record<Lane, number>> | undefined };

/** A stage's configuration as a user writes it: only `stage` and `senderAddress` are required. */
export interface StageConfigInput
  extends Pick<StageConfig, WithoutDefault>,
    Optional<Omit<StageConfig, WithoutDefault | Section | OptionalSection>> {
  /** Concurrency that Lambda keeps for dispatcher and senders. */
  readonly reservedConcurrency?: Pick<ReservedConcurrency, 'accountLimit'> &
    Optional<Omit<ReservedConcurrency, 'accountLimit'>>;
  /** Retries after the first send, 0 to 100; urgent 10, important 7, normal 5, info 3 (batch-952 §5.2). */
  readonly maxRetries?: Optional<PerPriority> | undefined;
  /** Hours from the first attempt in which a retry may be made; urgent 24, important 12, normal 6, info 3. */
  readonly retentionHours?: Optional<PerPriority> | undefined;
  /** When a provider counts as down, and how it is tried again. */
  readonly breaker?: Optional<BreakerSettings> | undefined;
  /** How much of SES's allowance is used, and by what. */
  readonly pacing?: (Optional<Omit<PacingSettings, OptionalLimit>> & Pick<PacingSettings, OptionalLimit>) | undefined;
  /** How newsletters are sent, and as whom. */
  readonly newsletter?: Optional<NewsletterSettings> | undefined;
  /** Most concurrent batches per lane, 2 to 1,000. */
  readonly concurrency?: LanesInput | undefined;
  /** Most notifications per batch and lane, 1 to 100. */
  readonly batchSize?: LanesInput | undefined;
  /** Seconds that Lambda waits for a full batch, per lane, 0 to 20. */
  readonly batchWindowSeconds?: LanesInput | undefined;
  /** Over how many partitions the indexes are spread: work 8 to 64, history 4 to 64. */
  readonly indexShards?: Optional<IndexShards> | undefined;
  /** Memory per function in megabytes, by its folder in functions/. */
  readonly memoryMb?: Optional<Record<FunctionName, number>> | undefined;
  /** Thresholds of the alarms. */
  readonly alarms?:
    | (Optional<Omit<AlarmThresholds, ComputedThreshold>> & Pick<AlarmThresholds, ComputedThreshold>)
    | undefined;
  /** Limits of the API for all keys together, and whose web pages may call it. */
  readonly api?: Optional<ApiSettings> | undefined;
  /** The console on the web: off unless given. */
  readonly console?: 'off' | ConsoleInput | undefined;
}

type RolesInput = Pick<ConsoleRoles, 'roleClaim'> & Optional<Omit<ConsoleRoles, 'roleClaim'>>;
/** How people sign in to the console, as a user writes it. */
export type ConsoleInput =
  | (RolesInput & { readonly issuer: string; readonly clientId: string; readonly scope?: string })
  | (RolesInput & { readonly cognito: { readonly domainPrefix: string } });
