import * as v from 'valibot';
import { DEFAULT_BREAKER_POLICY } from '../../src/core/breaker/breaker-policy.ts';
import { CHANNELS, type Channel, LANES, type Lane, type PerLane } from '../../src/core/model/channels.ts';
import { PRIORITIES, type Priority } from '../../src/core/model/priorities.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../src/core/model/retry-policy.ts';
import { ScheduleError, sweepIntervalSeconds } from './schedule.ts';

const HOUR_MS = 3_600_000;

/**
 * Concurrent batches of ten a lane. Slack takes about one message a second a channel and Teams four (facts), so more
 * than the least that Lambda allows would only collect refusals; the others are bounded by the account's SES rate
 * and by politeness to receivers.
 */
const DEFAULT_CONCURRENCY: PerLane<number> = {
  email: { express: 10, standard: 5 },
  slack: { express: 2, standard: 2 },
  teams: { express: 2, standard: 2 },
  webhook: { express: 20, standard: 10 },
};

/** What CloudWatch Logs accepts. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

type Explain = (issue: { readonly received: string }) => string;
const explain =
  (right: string): Explain =>
  ({ received }) =>
    received === 'undefined' ? `is missing: ${right}` : `${right}, is ${received}`;

function numberBetween(from: number, to: number, unit: string) {
  const message = explain(`must be a number from ${from} to ${to} (${unit})`);
  return v.pipe(v.number(message), v.minValue(from, message), v.maxValue(to, message));
}

function wholeBetween(from: number, to: number, unit: string) {
  const message = explain(`must be a whole number from ${from} to ${to} (${unit})`);
  return v.pipe(
    v.number(message),
    v.check((value) => Number.isInteger(value) && value >= from && value <= to, message),
  );
}

/** An object that takes no other keys than these, so that a misspelt one is an error and not a default. */
function section<E extends v.ObjectEntries>(entries: E) {
  const known = Object.keys(entries).join(', ');
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === 'never') return `is not a known key; known are ${known}`;
    if (expected?.startsWith('"')) return 'is missing';
    return `must be an object with the keys ${known}, is ${received}`;
  });
}

function list(item: v.GenericSchema<string>, of: string) {
  return v.array(item, explain(`must be a list of ${of}`));
}

function perPriority(schema: v.GenericSchema<number>, standard: (priority: Priority) => number) {
  const entry = (priority: Priority) => v.optional(schema, standard(priority));
  const entries = Object.fromEntries(PRIORITIES.map((priority) => [priority, entry(priority)]));
  return v.optional(section(entries as Record<Priority, ReturnType<typeof entry>>), {});
}

function perLane(channel: Channel) {
  const entry = (lane: Lane) =>
    v.optional(wholeBetween(2, 1000, 'concurrent batches'), DEFAULT_CONCURRENCY[channel][lane]);
  const entries = Object.fromEntries(LANES.map((lane) => [lane, entry(lane)]));
  return v.optional(section(entries as Record<Lane, ReturnType<typeof entry>>), {});
}

function perChannel() {
  const entries = Object.fromEntries(CHANNELS.map((channel) => [channel, perLane(channel)]));
  return v.optional(section(entries as Record<Channel, ReturnType<typeof perLane>>), {});
}

const breaker = section({
  /** Least notifications within the window that a judgement needs. */
  minSamples: v.optional(wholeBetween(1, 1000, 'notifications'), DEFAULT_BREAKER_POLICY.min_samples),
  /** Share of them that failed from which the breaker opens. */
  failureShare: v.optional(numberBetween(0.1, 1, 'share of failures'), DEFAULT_BREAKER_POLICY.failure_share),
  windowSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.window_ms / 1000),
  /** Seconds from opening to the first probe; every probe that fails doubles them, up to maxIntervalSeconds. */
  intervalSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.interval_ms / 1000),
  maxIntervalSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.max_interval_ms / 1000),
  /** Held notifications a lane that are let go each second once the provider is back. */
  drainPerSecond: v.optional(numberBetween(0.1, 1000, 'notifications'), DEFAULT_BREAKER_POLICY.drain_per_second),
});

function scheduleExpression(standard: string) {
  return v.optional(
    v.pipe(
      v.string(explain('must be a schedule expression, such as cron(30 * * * ? *)')),
      v.rawCheck(({ dataset, addIssue }) => {
        const fault = dataset.typed ? scheduleFault(dataset.value) : undefined;
        if (fault !== undefined) addIssue({ message: fault });
      }),
    ),
    standard,
  );
}

const stageName = explain('must be a lower-case letter followed by at most 15 of a-z, 0-9 and -');
/** Without what it is: addresses do not belong in errors. */
const sender = ({ received }: { readonly received: string }) =>
  `${received === 'undefined' ? 'is missing: ' : ''}must be a plain e-mail address, such as noreply@your-domain.example`;
const configurationSet = explain('must be 1 to 64 of A-Z, a-z, 0-9, _ and -');
const address = v.pipe(v.string(sender), v.email(sender));
const sesName = v.pipe(v.string(configurationSet), v.regex(/^[A-Za-z0-9_-]{1,64}$/, configurationSet));
const logLevel = explain('must be DEBUG, INFO, WARN or ERROR');

const stageConfig = section({
  /** Part of every name; `prod` keeps its data: deletion protection, nothing removed with the stack. */
  stage: v.pipe(v.string(stageName), v.regex(/^[a-z][a-z0-9-]{0,15}$/, stageName)),
  /** From address of e-mails, verified in SES (itself or its domain). */
  senderAddress: address,
  /** SES configuration set that exists already, and gets a destination for events; absent: one is made. */
  configurationSet: v.exactOptional(sesName),
  /** From addresses that e-mail integrations may use in place of senderAddress; the role may send as no others. */
  integrationSenders: v.optional(list(address, 'e-mail addresses'), []),
  /** Configuration sets that e-mail integrations may name, and those that SES applies to a sender by itself. */
  integrationConfigurationSets: v.optional(list(sesName, 'names of SES configuration sets'), []),
  /** When the dispatcher sweeps: EventBridge cron or rate, UTC; every hour at minute 30 (batch-952 §1). */
  schedule: scheduleExpression('cron(30 * * * ? *)'),
  /** The unit of backoff in seconds, 1 to 86,400 (batch-952 §5.1). */
  baseIntervalSeconds: v.optional(numberBetween(1, 86_400, 'seconds'), DEFAULT_RETRY_POLICY.base_interval_ms / 1000),
  /** Retries after the first send, 0 to 100 a priority (batch-952 §5.2). */
  maxRetries: perPriority(wholeBetween(0, 100, 'retries'), (priority) => PRIORITY_POLICY[priority].max_retries),
  /** Hours from the first attempt in which a retry may be made, at most two weeks (batch-952 §5.2). */
  retentionHours: perPriority(
    numberBetween(0.1, 336, 'hours'),
    (priority) => PRIORITY_POLICY[priority].retention_ms / HOUR_MS,
  ),
  /** When a provider counts as down, and how it is approached again (docs/decisions/0040). */
  breaker: v.optional(breaker, {}),
  /** Most concurrent batches a lane, 2 to 1,000 (Lambda's range for maximumConcurrency). */
  concurrency: perChannel(),
  /** When the monitor looks: EventBridge cron or rate, UTC. */
  monitorSchedule: scheduleExpression('rate(5 minutes)'),
  /** Who gets alarms and notices by e-mail, after confirming SNS's message; others subscribe to the topic. */
  alarmEmails: v.optional(list(address, 'e-mail addresses'), []),
  /** Thresholds of the alarms; each rings above its own (docs/runbook.md has a section for each). */
  alarms: v.optional(
    section({
      /** Growth of a channel's dead-letter queue (retry-and-idempotency-design.md §6). */
      deadLettersPerHour: v.optional(wholeBetween(0, 1_000_000, 'messages'), 10),
      /** Of a channel's attempts in 15 minutes, if these are at least retryFailureMinimum. */
      retryFailurePercent: v.optional(numberBetween(0, 100, '%'), 5),
      retryFailureMinimum: v.optional(wholeBetween(1, 1_000_000, 'attempts'), 20),
      /** From queue to attempt, on average of five minutes. */
      processingDelayMinutes: v.optional(numberBetween(0, 1440, 'minutes'), 5),
      /** Without a scheduled sweep; absent: 2, or two pauses of the schedule where these are longer. */
      sweepMissingHours: v.exactOptional(wholeBetween(1, 168, 'hours')),
      /** Since when the oldest due notification may be due; absent: 120, or two pauses of the schedule. */
      oldestDueMinutes: v.exactOptional(numberBetween(1, 10_080, 'minutes')),
      /** Of any one function, in five minutes. */
      functionErrors: v.optional(wholeBetween(0, 1_000_000, 'errors'), 0),
      functionThrottles: v.optional(wholeBetween(0, 1_000_000, 'throttles'), 0),
      openBreakers: v.optional(wholeBetween(0, 1_000_000, 'breakers'), 0),
      /** Of the requests with an idempotency key in an hour, if these are at least idempotentRepeatMinimum. */
      idempotentRepeatPercent: v.optional(numberBetween(0, 100, '%'), 50),
      idempotentRepeatMinimum: v.optional(wholeBetween(1, 1_000_000, 'requests'), 20),
    }),
    {},
  ),
  /** Requests a second, and at once, that the API takes from all keys together; a key has a limit of its own besides. */
  api: v.optional(
    section({
      rateLimit: v.optional(wholeBetween(1, 10_000, 'requests a second'), 500),
      burstLimit: v.optional(wholeBetween(1, 5_000, 'requests at once'), 1_000),
    }),
    {},
  ),
  /** Days that log lines are kept, one of CloudWatch's steps. */
  logRetentionDays: v.optional(
    v.picklist(LOG_RETENTION_DAYS, explain(`must be one of ${LOG_RETENTION_DAYS.join(', ')} (days)`)),
    90,
  ),
  /** Least important log lines that are written. */
  logLevel: v.optional(v.picklist(['DEBUG', 'INFO', 'WARN', 'ERROR'], logLevel), 'INFO'),
});

/** A stage's configuration as one writes it: only `stage` and `senderAddress` have no default. */
export type StageConfigInput = v.InferInput<typeof stageConfig>;
/** A stage's configuration, checked and with every default filled in. */
export type StageConfig = v.InferOutput<typeof stageConfig>;

/** Names every fault, each with its key, what is wrong and what would be right. */
export class StageConfigError extends Error {
  override readonly name = 'StageConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
    );
    this.faults = faults;
  }
}

/**
 * Checks a stage's configuration and fills in the defaults; a configuration that passed passes again unchanged.
 * @param nameOf the place of a key (dot path, empty for the whole) as the one who wrote it knows it
 * @throws StageConfigError with all faults at once
 */
export function parseStageConfig(input: unknown, nameOf = (path: string) => path || 'configuration'): StageConfig {
  const parsed = v.safeParse(stageConfig, input);
  if (parsed.success) return parsed.output;
  throw new StageConfigError(parsed.issues.map((issue) => `${nameOf(v.getDotPath(issue) ?? '')} ${issue.message}`));
}

/** Production keeps its data when a stack or a table is deleted by mistake. */
export function isProduction(config: Pick<StageConfig, 'stage'>): boolean {
  return config.stage === 'prod';
}

function scheduleFault(expression: string): string | undefined {
  try {
    sweepIntervalSeconds(expression);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}
