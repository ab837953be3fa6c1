import { describe, expect, it } from 'vitest';
import { ERROR_POLICY, remedyOf } from '../../../src/core/model/error-types.ts';

describe('what to do about a notification that was given up', () => {
  it.each([
    ['MAX_RETRIES', 'SERVER_OVERLOAD', 'slack', 'Check that Slack is up, then redrive.'],
    ['MAX_RETRIES', 'NETWORK_TIMEOUT', 'webhook', 'Check that the receiver can be reached, then redrive.'],
    ['MAX_RETRIES', 'AUTH_TEMPORARY', 'teams', 'Rotate the credential, then redrive.'],
    ['EXPIRED', 'RATE_LIMITED', 'email', 'Ask Amazon SES for a higher limit, then redrive what is still worth sending'],
    ['MAX_RETRIES', 'PERMISSION_DENIED', 'slack', ERROR_POLICY.PERMISSION_DENIED.remedy],
    ['AUTH_FAILED', 'SERVER_OVERLOAD', 'slack', ERROR_POLICY.AUTH_FAILED.remedy],
    ['CANCELLED', 'SERVER_OVERLOAD', 'slack', ERROR_POLICY.CANCELLED.remedy],
    ['MAX_RETRIES', undefined, 'slack', ERROR_POLICY.MAX_RETRIES.remedy],
  ] as const)('because of %s after %s of %s: the last error says what to repair', (reason, last, channel, remedy) => {
    expect(remedyOf(reason, last, channel)).toContain(remedy);
  });
});
