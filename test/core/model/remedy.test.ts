import { describe, expect, it } from 'vitest';
import { groupDead } from '../../../src/application/dead-groups.ts';
import { ROW_TEXT } from '../../../src/core/delivery/transitions/settlements.ts';
import {
  ERROR_POLICY,
  OWN_FAULTS,
  type OwnFault,
  refusedByUs,
  remedyOf,
  wrongPart,
} from '../../../src/core/model/error-types.ts';
import { remedyFor } from '../../../src/core/operator/views/notification-view.ts';
import { deadRow } from '../../support/cli/operations.ts';

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
    expect(remedyOf(reason, { error_type: last }, channel)).toContain(remedy);
  });

  it.each(Object.keys(OWN_FAULTS) as OwnFault[])(
    'that we refused for %s: its code says what to repair, whole',
    (fault) => {
      const { error_type, message } = refusedByUs(fault, 'what is special to it. '.repeat(9));
      const remedy = remedyOf(error_type, { error_type, error_message: message.slice(0, ROW_TEXT) }, 'slack');
      const isOutside = ['bad_sender', 'no_secret', 'not_usable', 'bad_secret'].includes(fault);
      const ending = isOutside
        ? ', then redrive.'
        : ': Correct in the console, or ops correct LOG_ID, changes and resends it.';
      expect(remedy).toBe(`${OWN_FAULTS[fault].repair}${ending}`);
      expect(remedy).toMatch(/^[A-Z]/);
    },
  );

  it('that is cancelled is not repaired', () => {
    const { error_type, message } = refusedByUs('no_route', 'none');
    expect(remedyOf('CANCELLED', { error_type, error_message: message }, 'slack')).toBe(ERROR_POLICY.CANCELLED.remedy);
  });

  it.each(['constructor: x', 'no_route', 'SES answered: no_route: x', 'SES says no_route: x', ''])(
    'by a provider that says %j',
    (error_message) => {
      const last = { error_type: 'AUTH_FAILED', error_message } as const;
      expect(remedyOf('AUTH_FAILED', last, 'slack')).toBe(ERROR_POLICY.AUTH_FAILED.remedy);
    },
  );

  it.each([
    [['no_secret: a', 'no_secret: b'], `${OWN_FAULTS.no_secret.repair}, then redrive.`],
    [['no_secret: a', 'bad_secret: b'], ERROR_POLICY.AUTH_FAILED.remedy],
    [['no_secret: a', 'Slack answered 200 invalid_auth'], ERROR_POLICY.AUTH_FAILED.remedy],
  ])('with others for %j: what helps all of them', (messages, remedy) => {
    const rows = messages.map((error_message, i) =>
      deadRow(`dead-${i}`, { failure_reason: 'AUTH_FAILED', error_type: 'AUTH_FAILED', error_message }),
    );
    expect(groupDead(rows)).toMatchObject([{ count: 2, remedy }]);
  });

  it.each([
    ['INVALID_RECIPIENT', '550 no such user', 'recipient'],
    ['INVALID_RECIPIENT', 'bad_address: x', 'recipient'],
    ['FORMAT_ERROR', 'the endpoint answered 422', 'body'],
    ['FORMAT_ERROR', 'too_long: x', 'body'],
    ['AUTH_FAILED', 'no_route: x', 'integration'],
    ['PERMISSION_DENIED', 'foreign_secret: x', 'integration'],
    ['AUTH_FAILED', 'no_secret: x', undefined],
    ['PERMISSION_DENIED', 'not_in_channel', undefined],
    ['MAX_RETRIES', 'it answered 503', undefined],
    ['CANCELLED', 'no_route: x', undefined],
  ] as const)('because of %s (%s): what a redrive would send as wrong as before is corrected', (reason, said, part) => {
    const last = { error_type: reason, error_message: said };
    expect(wrongPart(reason, said)).toBe(part);
    expect(remedyOf(reason, last, 'email').includes('ops correct LOG_ID')).toBe(part !== undefined);
  });

  it('whose message is no text: by its type', () => {
    const last = { error_type: 'AUTH_FAILED', error_message: { toString: 1 } } as const;
    expect(remedyOf('AUTH_FAILED', last, 'slack')).toBe(ERROR_POLICY.AUTH_FAILED.remedy);
  });

  it('before any attempt, as its row is malformed: its writer alone can correct it', () => {
    const row = { send_status: 'FAILED', failure_reason: 'FORMAT_ERROR', error_type: 'FORMAT_ERROR' };
    expect(remedyFor(row)).toMatch(/^Its row is malformed: its writer/);
    expect(remedyFor(deadRow('dead', { failure_reason: 'FORMAT_ERROR' }))).toBe(ERROR_POLICY.FORMAT_ERROR.remedy);
  });
});
