import { beforeAll, describe, expect, it } from 'vitest';
import { parseDeliveryEvent } from '../../../../src/adapters/email/delivery-event-message.ts';
import { outcomeOf } from '../../../../src/local/providers/ses/mail-outcome.ts';
import { type SentMail, sesEvent } from '../../../../src/local/providers/ses/ses-events.ts';
import { deployedRules } from '../../../support/lib/ses-rules.ts';

const NOW = new Date('2026-03-01T10:30:01.250Z');
const MAIL: SentMail = {
  message_id: '0100-abc-000000',
  from: 'noreply@mail.your-domain.jp',
  to: 'hanako.secret@example.com',
  subject: 'very private subject',
  configuration_set: 'notification-retry-dev',
  tags: { log_id: 'NL-1', attempt: '3', tenant_id: 'TENANT001' },
  sent: new Date(NOW.getTime() - 1000),
};

describe('the rules for SES’s events', () => {
  let passed: ReturnType<typeof deployedRules>;
  beforeAll(() => {
    passed = deployedRules();
  });

  it.each([
    ['ok', 0, [{ kind: 'delivered' }]],
    ['open', 0, [{ kind: 'delivered' }, { kind: 'opened' }]],
    ['complaint', 0, [{ kind: 'delivered' }, { kind: 'complained' }]],
    ['notspam', 0, [{ kind: 'delivered' }, { kind: 'delivered' }]],
    ['complaintlist', 0, [{ kind: 'failed', answer: { error_type: 'INVALID_RECIPIENT' }, suppressed: true }]],
    ['machineopen', 0, [{ kind: 'delivered' }, { kind: 'delivered' }]],
    ['commentedbounce', 0, [{ kind: 'failed', answer: { error_type: 'INVALID_RECIPIENT', response_code: '5.1.1' } }]],
    ['bounce', 0, [{ kind: 'failed', answer: { error_type: 'INVALID_RECIPIENT', response_code: '5.1.1' } }]],
    ['softbounce', 0, [{ kind: 'failed', answer: { error_type: 'UNKNOWN', response_code: '4.4.7' } }]],
    ['softbounce', 1, [{ kind: 'delivered' }]],
    ['softbounce-2', 1, [{ kind: 'failed' }]],
    ['ooto', 0, [{ kind: 'delivered' }, { kind: 'unclear' }]],
    ['suppressionlist', 0, [{ kind: 'failed', answer: { error_type: 'INVALID_RECIPIENT' }, suppressed: true }]],
    ['reject', 0, [{ kind: 'failed', answer: { error_type: 'FORMAT_ERROR' } }]],
  ])('pass on fields that the function can read: %s, after %i attempts', async (word, attempts, told) => {
    const read = [];
    for (const happening of outcomeOf(word, attempts)) {
      const [body, ...more] = await passed(sesEvent(MAIL, happening, NOW));
      expect(more).toEqual([]);
      read.push(parseDeliveryEvent(body ?? ''));
    }
    const common = { log_id: 'NL-1', attempt: 3, provider_message_id: '0100-abc-000000' };
    expect(read).toMatchObject(told.map((one) => ({ ...common, feedback: one })));
    for (const event of read) expect(event?.at).toMatch(/^2026-03-01T10:30:01\.(250|000)Z$/);
  });

  it('pass on a bounce without a status of the receiving server', async () => {
    const [happening] = outcomeOf('bounce', 0);
    const event = sesEvent(MAIL, happening ?? 'delivery', NOW);
    const text = JSON.stringify(event).replace('"status":"5.1.1",', '');
    const [body, ...more] = await passed(JSON.parse(text));
    expect(more).toEqual([]);
    expect(parseDeliveryEvent(body ?? '')).toMatchObject({
      feedback: { answer: { message: 'the mail bounced: Permanent, General' } },
    });
  });

  it.each(['ok', 'open', 'complaint', 'bounce', 'softbounce', 'ooto', 'suppressionlist', 'reject'])(
    'let neither recipient nor subject into the queue: %s',
    async (word) => {
      for (const happening of outcomeOf(word, 0)) {
        expect(JSON.stringify(sesEvent(MAIL, happening, NOW))).toMatch(/hanako.*private/);
        expect((await passed(sesEvent(MAIL, happening, NOW))).join()).not.toMatch(/hanako|private|@/);
      }
    },
  );

  it.each([
    ['of another configuration set', { ...MAIL, configuration_set: 'theirs' }],
    ['of a mail that is not ours', { ...MAIL, tags: {} }],
  ])('let nothing through %s', async (_, mail) => expect(await passed(sesEvent(mail, 'delivery', NOW))).toEqual([]));
});
