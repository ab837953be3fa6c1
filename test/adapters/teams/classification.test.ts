import { NETWORK_RULES } from '../../../src/adapters/http/network-classification.ts';
import { TEAMS_RULES } from '../../../src/adapters/teams/classification.ts';
import type { AnswerFacts } from '../../../src/core/delivery/policy/classification.ts';
import { classificationSuite } from '../../support/classification-suite.ts';

const connector = (status: number): AnswerFacts => ({
  status: 200,
  text: `Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error ${status} with ContextId`,
});

const expected: [AnswerFacts, string][] = [
  [connector(400), 'FORMAT_ERROR'],
  [connector(401), 'AUTH_FAILED'],
  [connector(403), 'PERMISSION_DENIED'],
  [connector(404), 'INVALID_RECIPIENT'],
  [connector(408), 'NETWORK_TIMEOUT'],
  [connector(413), 'FORMAT_ERROR'],
  [connector(418), 'INVALID_RECIPIENT'],
  [connector(429), 'RATE_LIMITED'],
  [connector(502), 'SERVER_OVERLOAD'],
  [{ status: 200, text: 'Webhook message delivery failed with error: Error contacting Microsoft Teams' }, 'UNKNOWN'],
  [{ status: 404, code: 'WorkflowTriggerIsNotEnabled' }, 'AUTH_FAILED'],
  [{ status: 400, code: 'WorkflowNotFound' }, 'INVALID_RECIPIENT'],
  [{ status: 401, code: 'DirectApiAuthorizationRequired' }, 'AUTH_FAILED'],
  [{ status: 409, code: 'TriggerInputSchemaMismatch' }, 'FORMAT_ERROR'],
  [{ status: 400, code: 'WorkflowThrottled' }, 'RATE_LIMITED'],
  [{ status: 302 }, 'INVALID_RECIPIENT'],
  [{ status: 400 }, 'FORMAT_ERROR'],
  [{ status: 401 }, 'AUTH_FAILED'],
  [{ status: 403 }, 'PERMISSION_DENIED'],
  [{ status: 404 }, 'INVALID_RECIPIENT'],
  [{ status: 408 }, 'NETWORK_TIMEOUT'],
  [{ status: 410 }, 'INVALID_RECIPIENT'],
  [{ status: 413 }, 'FORMAT_ERROR'],
  [{ status: 415 }, 'FORMAT_ERROR'],
  [{ status: 425 }, 'UNKNOWN'],
  [{ status: 429 }, 'RATE_LIMITED'],
  [{ status: 451 }, 'INVALID_RECIPIENT'],
  [{ status: 501 }, 'INVALID_RECIPIENT'],
  [{ status: 502, code: 'NoResponse' }, 'SERVER_OVERLOAD'],
  [{ status: 505 }, 'INVALID_RECIPIENT'],
  [{ code: 'ECONNRESET' }, 'NETWORK_TIMEOUT'],
];

classificationSuite('an answer of a Teams webhook', TEAMS_RULES, expected, NETWORK_RULES);
