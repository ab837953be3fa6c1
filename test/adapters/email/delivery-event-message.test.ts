import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOUNCE_RULES, describeBounce, errorOfBounce } from '../../../src/adapters/email/bounces.ts';
import { parseDeliveryEvent } from '../../../src/adapters/email/delivery-event-message.ts';
import { fromTag, toTag } from '../../../src/adapters/signing/hashed-ids.ts';
import { anyCharacter } from '../../support/any-character.ts';

const MESSAGE = {
  version: 1,
  event: 'Delivery',
  at: '2026-03-01T10:30:00Z',
  log_id: 'NL-1',
  attempt: '3',
  provider_message_id: '0100-abc-000000',
};
const parse = (changes: object) => parseDeliveryEvent(JSON.stringify({ ...MESSAGE, ...changes }));

describe('a message about an e-mail', () => {
  it('names an attempt and a time with milliseconds', () => {
    expect(parse({})).toEqual({
      log_id: 'NL-1',
      attempt: 3,
      at: '2026-03-01T10:30:00.000Z',
      provider_message_id: '0100-abc-000000',
      feedback: { kind: 'delivered' },
    });
  });

  it.each(['Send', 'Click', 'DeliveryDelay', 'Subscription'])('is ignored when it is a %s', (event) => {
    expect(parse({ event })).toBeUndefined();
  });

  it.each([
    ['no JSON', '{', /body/],
    ['no attempt', JSON.stringify({ ...MESSAGE, attempt: undefined }), /attempt/],
    ['a wrong attempt', JSON.stringify({ ...MESSAGE, attempt: '-1' }), /attempt/],
    ['no time', JSON.stringify({ ...MESSAGE, at: 'yesterday' }), /at must be/],
    ['a text in place of a word', JSON.stringify({ ...MESSAGE, event: 'Bounce of taro@example.com' }), /event must be/],
  ])('is refused with the faulty field, but without its text: %s', (_, body, fault) => {
    expect(() => parseDeliveryEvent(body)).toThrow(fault);
    expect(() => parseDeliveryEvent(body)).not.toThrow(/taro|yesterday/);
  });

  it.each(['Reject', 'Rendering Failure'])('%s is a fault of the message', (event) => {
    expect(parse({ event })).toMatchObject({ feedback: { kind: 'failed', answer: { error_type: 'FORMAT_ERROR' } } });
  });
});

describe('a bounce', () => {
  it.each([
    ['Permanent', 'General', 'INVALID_RECIPIENT'],
    ['Permanent', 'NoEmail', 'INVALID_RECIPIENT'],
    ['Permanent', 'OnAccountSuppressionList', 'INVALID_RECIPIENT'],
    ['Transient', 'MailboxFull', 'SERVER_OVERLOAD'],
    ['Transient', 'MessageTooLarge', 'FORMAT_ERROR'],
    ['Transient', 'ContentRejected', 'FORMAT_ERROR'],
    ['Transient', 'AttachmentRejected', 'FORMAT_ERROR'],
  ])('%s, %s means %s', (type, sub_type, expected) => {
    expect(errorOfBounce({ type, sub_type })).toBe(expected);
    expect(parse({ event: 'Bounce', bounce: { type, sub_type } })).toMatchObject({
      feedback: { answer: { error_type: expected, message: expect.stringContaining(`${type}, ${sub_type}`) } },
    });
  });

  it.each([
    ['Transient', 'General'],
    ['Undetermined', 'Undetermined'],
    ['Transient', 'CustomTimeoutExceeded'],
  ])(
    '%s, %s is retried only with the status code of a failure; without one it may be an automatic reply',
    (type, sub_type) => {
      const feedback = (status?: string) =>
        parse({ event: 'Bounce', bounce: { type, sub_type, ...(status && { status }) } })?.feedback;
      for (const status of ['4.4.7', '5.0.0']) {
        expect(feedback(status)).toMatchObject({
          kind: 'failed',
          answer: { error_type: 'UNKNOWN', response_code: status },
        });
      }
      for (const status of [undefined, '2.0.0', 'failed']) {
        expect(feedback(status)).toEqual({ kind: 'unclear', message: expect.stringContaining(`${type}, ${sub_type}`) });
      }
    },
  );

  it.each([
    ['Permanent', 'General', '5.1.1', true],
    ['Permanent', 'General', undefined, undefined],
    ['Permanent', 'OnAccountSuppressionList', undefined, true],
    ['Transient', 'ContentRejected', '5.6.0', true],
    ['Transient', 'ContentRejected', undefined, undefined],
    ['Transient', 'MailboxFull', '5.2.2', undefined],
    ['Transient', 'General', '4.4.7', undefined],
  ])('%s, %s with the status %s outranks a delivery: %s', (type, sub_type, status, final) => {
    const told = parse({ event: 'Bounce', bounce: { type, sub_type, ...(status && { status }) } })?.feedback;
    expect(told?.kind === 'failed' && told.final).toBe(final);
  });

  it('has a reason in every rule of its table', () => {
    for (const { because } of BOUNCE_RULES) expect(because).toMatch(/\.$/);
  });

  it('by SES itself is described so, and suppresses the recipient', () => {
    const bounce = { type: 'Permanent', sub_type: 'OnAccountSuppressionList', status: '5.1.1' };
    expect(describeBounce(bounce)).toBe(
      'SES has the recipient on a suppression list: Permanent, OnAccountSuppressionList, 5.1.1',
    );
    expect(parse({ event: 'Bounce', bounce })).toMatchObject({ feedback: { suppressed: true } });
    expect(parse({ event: 'Bounce', bounce: { ...bounce, sub_type: 'General' } })).not.toHaveProperty(
      'feedback.suppressed',
    );
  });
});

describe('an id as a message tag', () => {
  it('stays unchanged if SES accepts it', () => expect(toTag('0198c3f2-7a44_x')).toBe('0198c3f2-7a44_x'));

  it('fits SES’s rules and can be decoded, whatever the id is', () => {
    const id = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 50 }),
      fc.constantFrom('b64_', 'b64_YQ', 'mail@日本'),
    );
    fc.assert(
      fc.property(id, (log_id) => {
        fc.pre(log_id.isWellFormed());
        expect(toTag(log_id)).toMatch(/^[\w-]{1,256}$/);
        expect(fromTag(toTag(log_id))).toBe(log_id);
      }),
    );
  });
});
