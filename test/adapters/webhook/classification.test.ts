import { WEBHOOK_RULES } from '../../../src/adapters/webhook/classification.ts';
import type { AnswerFacts } from '../../../src/core/delivery/policy/classification.ts';
import { classificationSuite } from '../../support/classification-suite.ts';

const expected: [AnswerFacts, string][] = [
  [{ code: 'TARGET_REFUSED' }, 'INVALID_RECIPIENT'],
  [{ code: 'TIMEOUT' }, 'NETWORK_TIMEOUT'],
  [{ code: 'ECONNREFUSED' }, 'NETWORK_TIMEOUT'],
  [{ code: 'ECONNRESET' }, 'NETWORK_TIMEOUT'],
  [{ code: 'ENOTFOUND' }, 'NETWORK_TIMEOUT'],
  [{ code: 'CERT_HAS_EXPIRED' }, 'UNKNOWN'],
  [{ code: 'NO_HTTP' }, 'NETWORK_TIMEOUT'],
  [{ code: 'SOMETHING_NEW' }, 'UNKNOWN'],
  [{ status: 301 }, 'INVALID_RECIPIENT'],
  [{ status: 308 }, 'INVALID_RECIPIENT'],
  [{ status: 400 }, 'FORMAT_ERROR'],
  [{ status: 401 }, 'AUTH_FAILED'],
  [{ status: 402 }, 'INVALID_RECIPIENT'],
  [{ status: 403 }, 'PERMISSION_DENIED'],
  [{ status: 404 }, 'INVALID_RECIPIENT'],
  [{ status: 407 }, 'AUTH_FAILED'],
  [{ status: 408 }, 'NETWORK_TIMEOUT'],
  [{ status: 410 }, 'INVALID_RECIPIENT'],
  [{ status: 413 }, 'FORMAT_ERROR'],
  [{ status: 415 }, 'FORMAT_ERROR'],
  [{ status: 422 }, 'FORMAT_ERROR'],
  [{ status: 425 }, 'UNKNOWN'],
  [{ status: 429 }, 'RATE_LIMITED'],
  [{ status: 431 }, 'FORMAT_ERROR'],
  [{ status: 451 }, 'INVALID_RECIPIENT'],
  [{ status: 500 }, 'SERVER_OVERLOAD'],
  [{ status: 501 }, 'INVALID_RECIPIENT'],
  [{ status: 502 }, 'SERVER_OVERLOAD'],
  [{ status: 503 }, 'SERVER_OVERLOAD'],
  [{ status: 505 }, 'INVALID_RECIPIENT'],
  [{ status: 599 }, 'SERVER_OVERLOAD'],
];

classificationSuite('an answer of a webhook endpoint', WEBHOOK_RULES, expected);
