import { SQSClient } from '@aws-sdk/client-sqs';
import { createSweepLanes } from '../../../../src/adapters/sqs/lanes.ts';
import type { PerLane } from '../../../../src/core/model/channels.ts';
import type { SweepLanes } from '../../../../src/core/model/lanes.ts';
import { limits, STORAGE_LIMITS } from './request-limits.ts';

/**
 * The endpoint is given explicitly, for by default the client follows the queue URL's host, which an emulator's need
 * not be. Checksums of messages are left to TLS: they would cost as much as the call.
 */
export function createSqs(requestHandler = STORAGE_LIMITS): SQSClient {
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
