import { describe, expect, it } from 'vitest';
import { CALL_RULES, classOf, ENTRY_RULES, type RefusalFacts } from '../../../src/adapters/ses-v2/refusal-rules.ts';

type Rules = typeof CALL_RULES;
type Case = readonly [RefusalFacts, string];

const entry = (code: string, text = ''): RefusalFacts => ({ code, text });
const call = (code: string, text = '', status = 400): RefusalFacts => ({ code, text, status });

const entries: Case[] = [
  [entry('ACCOUNT_THROTTLED'), 'throttled'],
  [entry('ACCOUNT_DAILY_QUOTA_EXCEEDED'), 'quota'],
  [entry('TRANSIENT_FAILURE'), 'transient'],
  [entry('MESSAGE_REJECTED', 'Email address is not verified.'), 'unverified'],
  [entry('MESSAGE_REJECTED', 'Address blacklisted'), 'recipient'],
  [entry('INVALID_PARAMETER', 'Illegal address'), 'recipient'],
  [entry('FAILED', 'Unknown error occurred. Please try again later'), 'transient'],
  [entry('MAIL_FROM_DOMAIN_NOT_VERIFIED'), 'settings'],
  [entry('CONFIGURATION_SET_NOT_FOUND'), 'settings'],
  [entry('TEMPLATE_NOT_FOUND'), 'settings'],
  [entry('INVALID_SENDING_POOL_NAME'), 'settings'],
  [entry('ACCOUNT_SUSPENDED'), 'account'],
  [entry('ACCOUNT_SENDING_PAUSED'), 'account'],
  [entry('CONFIGURATION_SET_SENDING_PAUSED'), 'account'],
  [entry('MESSAGE_REJECTED', 'Sending paused for this account.'), 'account'],
];

const calls: Case[] = [
  [call('LimitExceededException', 'Daily message quota exceeded.'), 'quota'],
  [call('TooManyRequestsException', 'Maximum sending rate exceeded.', 429), 'throttled'],
  [call('AccountSuspendedException'), 'account'],
  [call('SendingPausedException'), 'account'],
  [call('MessageRejected', 'Sending suspended for this account.'), 'account'],
  [call('NotFoundException', '', 404), 'settings'],
  [call('MessageRejected', 'Email address is not verified.'), 'unverified'],
  [call('LimitExceededException', 'There are too many instances of the resource.'), 'transient'],
  [call('MessageRejected', 'Illegal content'), 'content'],
  [call('BadRequestException', 'Illegal content'), 'content'],
  [call('Unheard', '', 413), 'content'],
  [call('ExpiredTokenException', '', 403), 'transient'],
  [call('InvalidSignatureException', 'The request signature we calculated does not match', 403), 'settings'],
  [call('InvalidSignatureException', 'Signature expired: 20260301T093000Z is now earlier than …', 403), 'transient'],
  [call('InvalidSignatureException', 'Signature not yet current: 20260301T093000Z is still later', 403), 'transient'],
  [{ code: 'ECONNREFUSED' }, 'transient'],
  [{ code: 'EAI_AGAIN' }, 'transient'],
  [call('ServiceUnavailable', '', 503), 'overloaded'],
  [call('Unheard', '', 429), 'throttled'],
  [call('Unheard', '', 403), 'settings'],
  [call('Unheard'), 'content'],
  [call('InternalFailure', '', 500), 'unknown'],
];

describe.each<[string, Rules, Case[]]>([
  ['the status of an entry', ENTRY_RULES, entries],
  ['an error of a call', CALL_RULES, calls],
])('%s', (_, rules, cases) => {
  it.each(cases)('%j is %s', (facts, expected) => expect(classOf(facts, rules, undefined)).toBe(expected));

  it('is decided by each rule of the table in at least one of these cases', () => {
    const fits = (facts: RefusalFacts, rule: Rules[number]) => classOf(facts, [rule], undefined) !== undefined;
    const deciding = new Set(cases.map(([facts]) => rules.find((rule) => fits(facts, rule))));
    expect(rules.filter((rule) => !deciding.has(rule))).toEqual([]);
  });

  it('that no rule knows is left to the caller', () => {
    expect(classOf({ code: 'ECONNRESET' }, rules, undefined)).toBeUndefined();
  });
});
