import type { ClassificationRule } from '../../core/delivery/sender.ts';

/** What it means that no answer came: the same for every channel that speaks HTTP itself. */
export const NETWORK_RULES: readonly ClassificationRule[] = [
  {
    code: 'TARGET_REFUSED',
    means: 'INVALID_RECIPIENT',
    because: 'A target that is malformed or leads into a private network is never posted to, now or later.',
  },
  {
    code: ['TIMEOUT', 'ETIMEDOUT', 'ESOCKETTIMEDOUT'],
    means: 'NETWORK_TIMEOUT',
    because: 'batch-952 §6: a timeout is retried with the normal backoff.',
  },
  {
    code: [
      'ECONNREFUSED',
      'ECONNRESET',
      'ECONNABORTED',
      'EPIPE',
      'EHOSTUNREACH',
      'EHOSTDOWN',
      'ENETUNREACH',
      'ENETDOWN',
    ],
    means: 'NETWORK_TIMEOUT',
    because: 'The endpoint or the way to it is down, which passes.',
  },
  {
    code: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT'],
    means: 'NETWORK_TIMEOUT',
    because:
      'getaddrinfo says "not found" during a DNS outage or while a record spreads, too; the retry limit ends it if the name is really wrong.',
  },
  {
    code: [
      'CERT_HAS_EXPIRED',
      'CERT_NOT_YET_VALID',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'EPROTO',
    ],
    means: 'UNKNOWN',
    because: 'An endpoint with a bad certificate is repaired by its owner, mostly within hours: worth retrying.',
  },
  {
    code: ['HPE_INVALID_CONSTANT', 'HPE_HEADER_OVERFLOW', 'HPE_INVALID_HEADER_TOKEN', 'HPE_INVALID_STATUS'],
    means: 'UNKNOWN',
    because:
      'What answered does not speak HTTP: typically something in front of the endpoint while it is being replaced.',
  },
];
