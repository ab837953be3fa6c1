import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createSweepLanes } from '../../src/adapters/sqs/lanes.ts';
import type { BreakerPolicy } from '../../src/core/breaker-policy.ts';
import type { PerLane } from '../../src/core/channels.ts';
import { PRIORITIES, PRIORITY_POLICY } from '../../src/core/priorities.ts';
import type { RetryPolicy } from '../../src/core/retry-policy.ts';
import type { SweepLanes } from '../../src/core/sweep.ts';
import type { BreakerConfig, RetryPolicyConfig } from './env.ts';

/**
 * Without limits one connection that hangs would eat the batch's time. They are far above what either service takes,
 * and the SDK tries again on another connection, as after any TimeoutError. `requestTimeout` ends with the answer's
 * first byte and only warns unless told to throw; `socketTimeout` covers the rest of the answer. Milliseconds.
 */
const limits = (ms: number) => ({
  connectionTimeout: 1_000,
  requestTimeout: ms,
  throwOnRequestTimeout: true,
  socketTimeout: ms,
});
const PATIENT = limits(5_000);

/** Storage retries by itself, slowing down when it is throttled: nothing is gained by failing early. */
export function createDynamoDb(): DynamoDBClient {
  return new DynamoDBClient({ retryMode: 'adaptive', maxAttempts: 5, requestHandler: PATIENT });
}

/** For the API, whose caller waits: it would rather be told to come back than be left without an answer. */
export function createApiDynamoDb(): DynamoDBClient {
  return new DynamoDBClient({ maxAttempts: 3, requestHandler: limits(2_000) });
}

/**
 * The endpoint is given explicitly, for by default the client follows the queue URL's host, which an emulator's need
 * not be. Checksums of messages are left to TLS: they would cost as much as the call.
 */
export function createSqs(requestHandler = PATIENT): SQSClient {
  const endpoint = process.env['AWS_ENDPOINT_URL_SQS'] ?? process.env['AWS_ENDPOINT_URL'];
  return new SQSClient({
    md5: false,
    requestHandler,
    ...(endpoint && { endpoint, useQueueUrlAsEndpoint: false }),
  });
}

/** Milliseconds after which the API answers without its messages: what is stored is due, and found by a sweep. */
const SEND_MS = 2_000;

/** The lanes, for the API. */
export function createApiLanes(queues: PerLane<string>): SweepLanes {
  return createSweepLanes(createSqs(limits(SEND_MS / 2)), queues, { within_ms: SEND_MS });
}

export function toRetryPolicy(config: RetryPolicyConfig): RetryPolicy {
  const priorities = PRIORITIES.map((priority) => [
    priority,
    {
      max_retries: config.max_retries[priority],
      retention_ms: config.retention_hours[priority] * 3_600_000,
      lane: PRIORITY_POLICY[priority].lane,
    },
  ]);
  return { base_interval_ms: config.base_interval_seconds * 1000, priorities: Object.fromEntries(priorities) };
}

export function toBreakerPolicy({
  window_seconds,
  interval_seconds,
  max_interval_seconds,
  ...config
}: BreakerConfig): BreakerPolicy {
  return {
    ...config,
    window_ms: window_seconds * 1000,
    interval_ms: interval_seconds * 1000,
    max_interval_ms: max_interval_seconds * 1000,
  };
}
