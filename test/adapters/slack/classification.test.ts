import { expect, it } from 'vitest';
import { NETWORK_RULES } from '../../../src/adapters/http/network-classification.ts';
import { SLACK_RULES } from '../../../src/adapters/slack/classification.ts';
import type { AnswerFacts } from '../../../src/core/delivery/policy/classification.ts';
import { classificationSuite } from '../../support/classification-suite.ts';

const api = (code: string): AnswerFacts => ({ status: 200, code });

const expected: [AnswerFacts, string][] = [
  ...['ratelimited', 'rate_limited'].map((code): [AnswerFacts, string] => [api(code), 'RATE_LIMITED']),
  ...['channel_not_found', 'not_in_channel', 'is_archived'].map((code): [AnswerFacts, string] => [
    api(code),
    'INVALID_RECIPIENT',
  ]),
  ...['msg_too_long', 'no_text', 'invalid_blocks', 'invalid_arguments'].map((code): [AnswerFacts, string] => [
    api(code),
    'FORMAT_ERROR',
  ]),
  ...['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked'].map((code): [AnswerFacts, string] => [
    api(code),
    'AUTH_FAILED',
  ]),
  ...['missing_scope', 'restricted_action', 'ekm_access_denied'].map((code): [AnswerFacts, string] => [
    api(code),
    'PERMISSION_DENIED',
  ]),
  [api('token_expired'), 'AUTH_TEMPORARY'],
  [api('request_timeout'), 'NETWORK_TIMEOUT'],
  [api('service_unavailable'), 'SERVER_OVERLOAD'],
  [api('internal_error'), 'SERVER_OVERLOAD'],
  [api('fatal_error'), 'SERVER_OVERLOAD'],
  [api('messages_tab_disabled'), 'INVALID_RECIPIENT'],
  [{ status: 404, code: 'no_service' }, 'INVALID_RECIPIENT'],
  [{ status: 403, code: 'team_disabled' }, 'INVALID_RECIPIENT'],
  [{ status: 403, code: 'invalid_token' }, 'AUTH_FAILED'],
  [{ status: 500, code: 'rollup_error' }, 'SERVER_OVERLOAD'],
  [{ status: 302 }, 'INVALID_RECIPIENT'],
  [{ status: 400 }, 'FORMAT_ERROR'],
  [{ status: 401 }, 'AUTH_FAILED'],
  [{ status: 403 }, 'PERMISSION_DENIED'],
  [{ status: 404 }, 'INVALID_RECIPIENT'],
  [{ status: 408 }, 'NETWORK_TIMEOUT'],
  [{ status: 410 }, 'INVALID_RECIPIENT'],
  [{ status: 413 }, 'FORMAT_ERROR'],
  [{ status: 418 }, 'INVALID_RECIPIENT'],
  [{ status: 425 }, 'UNKNOWN'],
  [{ status: 429 }, 'RATE_LIMITED'],
  [{ status: 501 }, 'INVALID_RECIPIENT'],
  [{ status: 505 }, 'INVALID_RECIPIENT'],
  [{ status: 503 }, 'SERVER_OVERLOAD'],
  [api('something_new'), 'UNKNOWN'],
];

classificationSuite('an answer of Slack', SLACK_RULES, expected, NETWORK_RULES);

it('the table of Slack has no code in two rules', () => {
  const codes = SLACK_RULES.flatMap(({ code }) => code ?? []);
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
});
