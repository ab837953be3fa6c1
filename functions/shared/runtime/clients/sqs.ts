import { SQSClient } from '@aws-sdk/client-sqs';
import { lean, STORAGE_LIMITS } from './lean.ts';

/**
 * The endpoint is set explicitly: by default the client uses the host of the queue URL, which need not be the host of
 * an emulator. TLS protects messages, so the client computes no checksums, which would cost as much CPU as the call.
 */
export function createSqs(requestHandler = STORAGE_LIMITS): SQSClient {
  const endpoint = process.env['AWS_ENDPOINT_URL_SQS'] ?? process.env['AWS_ENDPOINT_URL'];
  return lean(
    new SQSClient({ md5: false, requestHandler, ...(endpoint && { endpoint, useQueueUrlAsEndpoint: false }) }),
  );
}
