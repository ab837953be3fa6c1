import type { LocalOnlyEnv } from '../../../../functions/shared/runtime/env.ts';
import type { BreakerConfig } from '../../../core/breaker/breaker-policy.ts';
import type { FunctionPlan } from '../template/plan.ts';
import { LOCAL_REGION } from '../template/references.ts';

export interface ServiceEndpoints {
  readonly dynamodb: string;
  /** SQS and SNS. */
  readonly sqs: string;
  readonly ses: string;
  /** The runtime itself: Lambda's Invoke, and the stack's API. */
  readonly lambda: string;
  readonly simulator: string;
  /** Absent for functions that tell no outcomes. */
  readonly eventbridge?: string;
}

export interface LocalOverrides {
  readonly secretsFile: string;
  /** Replaces the template's unit of backoff, in seconds. The rest of the retry policy stays. */
  readonly baseIntervalSeconds?: number;
  /** Replaces settings of the breakers; the keys are those of the variable BREAKER. */
  readonly breaker?: Partial<BreakerConfig>;
  /** Seconds between two sweeps; present when the schedule was replaced. */
  readonly sweepIntervalSeconds?: number;
}

/** A function's whole environment. Nothing is inherited from this process, whose AWS_* could lead to a real account. */
export function functionEnvironment(
  plan: FunctionPlan,
  endpoints: ServiceEndpoints,
  overrides: LocalOverrides,
): Record<string, string> {
  const localOnly: LocalOnlyEnv = {
    LOCAL_SECRETS_FILE: overrides.secretsFile,
    ALLOW_PRIVATE_TARGETS: 'true',
    SLACK_API_URL: `${endpoints.simulator}/slack/api/`,
  };
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    TZ: ':UTC',
    LANG: 'en_US.UTF-8',
    ...reserved(plan),
    AWS_REGION: LOCAL_REGION,
    AWS_DEFAULT_REGION: LOCAL_REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_EC2_METADATA_DISABLED: 'true',
    // Calls of services that have no stand-in get an error from the runtime itself and never reach AWS.
    AWS_ENDPOINT_URL: endpoints.lambda,
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_SNS: endpoints.sqs,
    AWS_ENDPOINT_URL_SES: endpoints.ses,
    AWS_ENDPOINT_URL_SESV2: endpoints.ses,
    AWS_ENDPOINT_URL_LAMBDA: endpoints.lambda,
    AWS_ENDPOINT_URL_SCHEDULER: endpoints.lambda,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventbridge ?? endpoints.lambda,
    ...overridden(plan.environment, overrides),
    ...(plan.environment['API_URL'] !== undefined && { API_URL: endpoints.lambda }),
    ...localOnly,
  };
}

function reserved(plan: FunctionPlan): Record<string, string> {
  return {
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: plan.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(plan.memoryMegabytes),
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${plan.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    LAMBDA_TASK_ROOT: plan.codeDirectory,
    _HANDLER: plan.handler,
  };
}

/**
 * Applies the runtime's options to a function's environment or to the stack's outputs. The CDK context could not carry
 * them, because another context needs another synthesis, which takes longer than the whole start.
 * @param keys names of the retry policy and the sweep interval among the values
 */
export function overridden(
  values: Readonly<Record<string, string>>,
  { baseIntervalSeconds, breaker, sweepIntervalSeconds }: LocalOverrides,
  [policyKey, intervalKey]: readonly [string, string] = ['RETRY_POLICY', 'SWEEP_INTERVAL_SECONDS'],
): Record<string, string> {
  const changed = { ...values };
  const policy = values[policyKey];
  if (policy !== undefined && baseIntervalSeconds !== undefined) {
    changed[policyKey] = JSON.stringify({ ...JSON.parse(policy), base_interval_seconds: baseIntervalSeconds });
  }
  if (values['BREAKER'] !== undefined) {
    const config: BreakerConfig = JSON.parse(values['BREAKER']);
    changed['BREAKER'] = JSON.stringify({ ...shortened(config, policy, baseIntervalSeconds), ...breaker });
  }
  if (values[intervalKey] !== undefined && sweepIntervalSeconds !== undefined) {
    changed[intervalKey] = String(sweepIntervalSeconds);
  }
  return changed;
}

/** Probes come sooner in proportion to retries, but at most once per second, because SQS delays by whole seconds. */
function shortened(config: BreakerConfig, policy: string | undefined, base: number | undefined): BreakerConfig {
  if (policy === undefined || base === undefined) return config;
  const { base_interval_seconds } = JSON.parse(policy) as { base_interval_seconds: number };
  const scaled = (seconds: number) => Math.max(1, (seconds * base) / base_interval_seconds);
  return {
    ...config,
    interval_seconds: scaled(config.interval_seconds),
    max_interval_seconds: scaled(config.max_interval_seconds),
  };
}
