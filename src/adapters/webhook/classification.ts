import type { ClassificationRule } from '../../core/delivery/policy/classification.ts';
import { NETWORK_RULES } from '../http/network-classification.ts';

/** Answers of webhook endpoints: batch-952 §6, the Standard Webhooks specification and RFC 9110. */
export const WEBHOOK_RULES: readonly ClassificationRule[] = [
  ...NETWORK_RULES,
  {
    status: [300, 399],
    means: 'INVALID_RECIPIENT',
    because:
      'Standard Webhooks: redirects are not followed, since they could lead anywhere. The owner must register the new URL; a retry at the old URL changes nothing.',
  },
  { status: 400, means: 'FORMAT_ERROR', because: 'RFC 9110 §15.5.1: the endpoint does not understand this payload.' },
  { status: 401, means: 'AUTH_FAILED', because: 'The signature or credential is not accepted: a setting is wrong.' },
  { status: 403, means: 'PERMISSION_DENIED', because: 'The endpoint refuses access, which must be granted first.' },
  { status: 404, means: 'INVALID_RECIPIENT', because: 'batch-952 §6: there is no such endpoint.' },
  {
    status: 407,
    means: 'AUTH_FAILED',
    because: 'A proxy in front of the endpoint needs credentials: a setting is wrong.',
  },
  { status: 410, means: 'INVALID_RECIPIENT', because: 'Standard Webhooks: 410 means to stop sending there.' },
  { status: 413, means: 'FORMAT_ERROR', because: 'The payload is larger than the endpoint accepts.' },
  { status: 415, means: 'FORMAT_ERROR', because: 'The endpoint does not accept JSON.' },
  { status: 422, means: 'FORMAT_ERROR', because: 'The payload is well-formed, but not what the endpoint expects.' },
  { status: 429, means: 'RATE_LIMITED', because: 'RFC 6585 §4: too many requests.' },
  { status: 431, means: 'FORMAT_ERROR', because: 'RFC 6585 §5: the headers, which contain our ids, are too large.' },
  {
    status: [400, 499],
    means: 'INVALID_RECIPIENT',
    because: 'batch-952 §6: any other 4xx is a wrong destination, and the retry stops.',
  },
  { status: [500, 599], means: 'SERVER_OVERLOAD', because: 'batch-952 §6: 5xx is retried at longer intervals.' },
];
