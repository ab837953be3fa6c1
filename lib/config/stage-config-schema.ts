import * as v from 'valibot';
import { isPageOrigin, PAGE_ORIGIN_RULE } from '../../src/adapters/api/page-cors.ts';
import { DEFAULT_BREAKER_POLICY } from '../../src/core/breaker/breaker-policy.ts';
import { CHANNELS, LANES, type PerLane } from '../../src/core/model/channels.ts';
import { PRIORITIES, type Priority } from '../../src/core/model/priorities.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../src/core/model/retry-policy.ts';
import { isTimeZone } from '../../src/core/model/time.ts';
import { BASE_SHARDS, MOST_SHARDS } from '../../src/core/model/work/index-shards.ts';
import { EMAIL_CONCURRENCY } from '../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../src/core/newsletter/model/job-limits.ts';
import { SOURCE_RETRIES } from '../../src/core/newsletter/model/job-retries.ts';
import { DEFAULT_PACING_POLICY as PACING } from '../../src/core/pacing/pacing-policy.ts';
import { explain, list, numberBetween, section, sectionOf, wholeBetween } from './config-checks.ts';
import { CONSOLE } from './console-config.ts';
import { FUNCTION_MEMORY_MB, FUNCTION_NAMES } from './function-memory.ts';
import { LANE_KEYS, laneWithoutWindow } from './lane-config.ts';
import { ScheduleError, sweepIntervalSeconds } from './schedule-expression.ts';
import { LOG_LEVELS, LOG_RETENTION_DAYS } from './stage-config.ts';

const HOUR_MS = 3_600_000;

const stageName = explain('must be a lower-case letter followed by at most 15 of a-z, 0-9 and -');
/** The message does not show the value, because addresses do not belong in errors. */
const sender = ({ received }: { readonly received: string }) =>
  `${received === 'undefined' ? 'is missing: ' : ''}must be a plain e-mail address, such as noreply@your-domain.example`;
const address = v.pipe(v.string(sender), v.email(sender));
const configurationSet = explain('must be 1 to 64 of A-Z, a-z, 0-9, _ and -');
const sesName = v.pipe(v.string(configurationSet), v.regex(/^[A-Za-z0-9_-]{1,64}$/, configurationSet));

const zone = explain('must be a time zone, such as Asia/Tokyo');

const breaker = section({
  minSamples: v.optional(wholeBetween(1, 1000, 'notifications'), DEFAULT_BREAKER_POLICY.min_samples),
  failureShare: v.optional(numberBetween(0.1, 1, 'share of failures'), DEFAULT_BREAKER_POLICY.failure_share),
  windowSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.window_ms / 1000),
  intervalSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.interval_ms / 1000),
  maxIntervalSeconds: v.optional(numberBetween(1, 3600, 'seconds'), DEFAULT_BREAKER_POLICY.max_interval_ms / 1000),
  drainPerSecond: v.optional(numberBetween(0.1, 1000, 'notifications'), DEFAULT_BREAKER_POLICY.drain_per_second),
});

const shareOf = explain('must be a share from 0 to 0.9 of the allowance');
const share = v.pipe(v.number(shareOf), v.minValue(0, shareOf), v.maxValue(0.9, shareOf));

const pacing = section({
  maxPerSecond: v.exactOptional(numberBetween(0.01, 100_000, 'e-mails a second')),
  maxPerDay: v.exactOptional(wholeBetween(1, 1_000_000_000, 'e-mails in 24 hours')),
  fallbackPerSecond: v.optional(numberBetween(0.01, 100_000, 'e-mails a second'), PACING.fallback_per_second),
  expressShare: v.optional(share, PACING.express_only),
  newsletterShare: v.optional(share, PACING.newsletter),
});

const senderPattern = explain('must be an e-mail address, or *@ and a domain, such as *@news.your-domain.example');
const retries = wholeBetween(0, 100, 'retries');
const retryMinutes = numberBetween(1, 60, 'minutes');
const retryPause = numberBetween(1, 300, 'seconds');
const newsletter = section({
  batchConcurrency: v.optional(wholeBetween(1, 10, 'batches at once'), EMAIL_CONCURRENCY),
  totalConcurrency: v.optional(wholeBetween(2, 1000, 'batches at once'), 10),
  storageRetriesBeforeSending: v.optional(retries, SOURCE_RETRIES.storage_before_sending),
  storageMinutesBeforeSending: v.optional(retryMinutes, SOURCE_RETRIES.storage_before_minutes),
  storageRetriesAfterSending: v.optional(retries, SOURCE_RETRIES.storage_after_sending),
  storageMinutesAfterSending: v.optional(retryMinutes, SOURCE_RETRIES.storage_after_minutes),
  storagePauseSeconds: v.optional(retryPause, SOURCE_RETRIES.storage_pause_seconds),
  providerRetries: v.optional(retries, SOURCE_RETRIES.provider),
  overloadedRetries: v.optional(retries, SOURCE_RETRIES.provider_overloaded),
  providerPauseSeconds: v.optional(retryPause, SOURCE_RETRIES.provider_pause_seconds),
  uncertainMinutes: v.optional(wholeBetween(0, 1440, 'minutes; 0: at once'), DEFAULT_JOB_LIMITS.uncertain_ms / 60_000),
  clockSchedule: scheduleExpression('rate(1 minute)'),
  senders: v.optional(
    list(v.pipe(v.string(senderPattern), v.regex(/^(\*|[^@\s*]+)@[A-Za-z0-9.-]+$/, senderPattern)), 'addresses'),
    [],
  ),
});

const partitions = (base: number) => v.optional(wholeBetween(base, MOST_SHARDS, 'partitions'), base);
const indexShards = section({ work: partitions(BASE_SHARDS.work), history: partitions(BASE_SHARDS.history) });
const memoryMb = sectionOf(FUNCTION_NAMES, (name) =>
  v.optional(wholeBetween(128, 10_240, 'megabytes'), FUNCTION_MEMORY_MB[name]),
);

const alarms = section({
  deadLettersPerHour: v.optional(wholeBetween(0, 1_000_000, 'messages'), 10),
  retryFailurePercent: v.optional(numberBetween(0, 100, '%'), 5),
  retryFailureMinimum: v.optional(wholeBetween(1, 1_000_000, 'attempts'), 20),
  processingDelayMinutes: v.optional(numberBetween(0, 1440, 'minutes'), 5),
  sweepMissingHours: v.exactOptional(wholeBetween(1, 168, 'hours')),
  oldestDueMinutes: v.exactOptional(numberBetween(1, 10_080, 'minutes')),
  functionErrors: v.optional(wholeBetween(0, 1_000_000, 'errors'), 0),
  functionThrottles: v.optional(wholeBetween(0, 1_000_000, 'throttles'), 0),
  indexerLagMinutes: v.optional(numberBetween(1, 1440, 'minutes'), 15),
  indexerFailures: v.optional(wholeBetween(0, 1_000_000, 'rows'), 0),
  openBreakers: v.optional(wholeBetween(0, 1_000_000, 'breakers'), 0),
  idempotentRepeatPercent: v.optional(numberBetween(0, 100, '%'), 50),
  idempotentRepeatMinimum: v.optional(wholeBetween(1, 1_000_000, 'requests'), 20),
  // What Gmail, Yahoo and Microsoft tolerate, and where SES reviews an account (docs/decisions/aws/monitoring.md#0123).
  newsletterComplaintPercent: v.optional(numberBetween(0.001, 100, '%'), 0.1),
  newsletterBouncePercent: v.optional(numberBetween(0.001, 100, '%'), 5),
  newsletterRateMinimum: v.optional(wholeBetween(1, 1_000_000, 'recipients'), 1_000),
  newsletterUncertain: v.optional(wholeBetween(0, 1_000_000, 'recipients'), 0),
  newsletterStalls: v.optional(wholeBetween(0, 1_000, 'runs of the clock'), 2),
  newsletterDeadLetters: v.optional(wholeBetween(0, 1_000_000, 'messages'), 0),
});

const origin = explain(PAGE_ORIGIN_RULE);
const api = section({
  rateLimit: v.optional(wholeBetween(1, 10_000, 'requests a second'), 500),
  burstLimit: v.optional(wholeBetween(1, 5_000, 'requests at once'), 1_000),
  corsOrigins: v.optional(list(v.pipe(v.string(origin), v.check(isPageOrigin, origin)), 'origins'), []),
});

const reservedConcurrency = section({
  accountLimit: wholeBetween(1, 1_000_000, 'concurrent executions of the account'),
  dispatcher: v.optional(wholeBetween(2, 1_000, 'invocations'), 5),
});

const KEYS = section({
  stage: v.pipe(v.string(stageName), v.regex(/^[a-z][a-z0-9-]{0,15}$/, stageName)),
  senderAddress: address,
  configurationSet: v.exactOptional(sesName),
  integrationSenders: v.optional(list(address, 'e-mail addresses'), []),
  integrationConfigurationSets: v.optional(list(sesName, 'names of SES configuration sets'), []),
  schedule: scheduleExpression('cron(30 * * * ? *)'),
  laneMinutes: v.optional(wholeBetween(1, 60, 'minutes'), 5),
  urgentSweepMinutes: v.optional(wholeBetween(0, 60, 'minutes; 0: off'), 5),
  baseIntervalSeconds: v.optional(numberBetween(1, 86_400, 'seconds'), DEFAULT_RETRY_POLICY.base_interval_ms / 1000),
  maxRetries: perPriority(wholeBetween(0, 100, 'retries'), (priority) => PRIORITY_POLICY[priority].max_retries),
  retentionHours: perPriority(
    numberBetween(0.1, 336, 'hours'),
    (priority) => PRIORITY_POLICY[priority].retention_ms / HOUR_MS,
  ),
  breaker: v.optional(breaker, {}),
  pacing: v.optional(pacing, {}),
  newsletter: v.optional(newsletter, {}),
  ...LANE_KEYS,
  indexShards: v.optional(indexShards, {}),
  memoryMb: v.optional(memoryMb, {}),
  reservedConcurrency: v.exactOptional(reservedConcurrency),
  webhookPorts: v.optional(v.array(wholeBetween(1, 65_535, 'port'), explain('must be a list of ports')), []),
  monitorSchedule: scheduleExpression('rate(5 minutes)'),
  timeZone: v.optional(v.pipe(v.string(zone), v.check(isTimeZone, zone)), 'UTC'),
  reconcileSchedule: scheduleExpression('rate(1 day)', ['off']),
  reconcileReadUnits: v.optional(wholeBetween(1, 10_000, 'read units a second'), 50),
  alarmEmails: v.optional(list(address, 'e-mail addresses'), []),
  alarms: v.optional(alarms, {}),
  api: v.optional(api, {}),
  console: v.optional(CONSOLE, 'off'),
  logRetentionDays: v.optional(
    v.picklist(LOG_RETENTION_DAYS, explain(`must be one of ${LOG_RETENTION_DAYS.join(', ')} (days)`)),
    90,
  ),
  logLevel: v.optional(v.picklist(LOG_LEVELS, explain('must be DEBUG, INFO, WARN or ERROR')), 'INFO'),
});

/** Lambda refuses reservations that leave less than this to the account's other functions. */
const LEAST_UNRESERVED = 100;

/** Ranges and defaults of StageConfig; a test holds the keys and types of the two together. */
export const STAGE_CONFIG_SCHEMA = v.pipe(
  KEYS,
  v.forward(
    v.check(
      ({ reservedConcurrency: given, concurrency }) =>
        given === undefined || given.accountLimit >= reservedBy(concurrency, given) + LEAST_UNRESERVED,
      ({ input: { reservedConcurrency: given, concurrency } }) => {
        const reserved = given === undefined ? 0 : reservedBy(concurrency, given);
        return (
          `must be at least ${reserved + LEAST_UNRESERVED}, is ${given?.accountLimit}: ${reserved} are reserved (all of ` +
          `concurrency, and the dispatcher), and Lambda leaves ${LEAST_UNRESERVED} to other functions. Raise the ` +
          'account\u2019s limit by Service Quotas, lower concurrency, or remove reservedConcurrency'
        );
      },
    ),
    ['reservedConcurrency', 'accountLimit'],
  ),
  v.forward(
    v.check(
      (given) => laneWithoutWindow(given) === undefined,
      ({ input }) =>
        `is too short for ${laneWithoutWindow(input)}: a batch of more than 10 (batchSize) needs at least 1 second`,
    ),
    ['batchWindowSeconds'],
  ),
);

function reservedBy(concurrency: PerLane<number>, { dispatcher }: { readonly dispatcher: number }): number {
  const lanes = CHANNELS.flatMap((channel) => LANES.map((lane) => concurrency[channel][lane]));
  return lanes.reduce((sum, batches) => sum + batches, dispatcher);
}

function perPriority(schema: v.GenericSchema<number>, standard: (priority: Priority) => number) {
  const limits = sectionOf(PRIORITIES, (priority) => v.optional(schema, standard(priority)));
  return v.optional(limits, {});
}

/** @param words allowed in place of an expression */
function scheduleExpression(standard: string, words: readonly string[] = []) {
  return v.optional(
    v.pipe(
      v.string(explain('must be a schedule expression, such as cron(30 * * * ? *)')),
      v.rawCheck(({ dataset, addIssue }) => {
        const fault = dataset.typed && !words.includes(dataset.value) ? scheduleFault(dataset.value) : undefined;
        if (fault !== undefined) addIssue({ message: fault });
      }),
    ),
    standard,
  );
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
