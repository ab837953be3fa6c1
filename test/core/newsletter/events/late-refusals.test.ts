import { describe, expect, it } from 'vitest';
import { applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import { lateAfter, refusedLate } from '../../../../src/core/newsletter/events/late-refusals.ts';
import { endOf } from '../../../../src/core/newsletter/lifecycle/advance.ts';
import type { NewsletterEvent } from '../../../../src/core/newsletter/model/batch-events.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { MemoryChunks, MemoryEmails } from '../../../../tools/simulation/twins/newsletter-items.ts';
import { batchFor, chunkOf, chunkState, emailContent, emailRow } from '../../../support/newsletter/job-rows.ts';

const at = (second: number) => `2026-03-01T10:00:${String(second).padStart(2, '0')}.000Z`;
const place = { email_id: 'email-1', batch_id: '00000', chunk: 0 };
const sent = (n: number, second: number) => ({ ...place, n, sent_at: at(second) });
const rejected = (n: number, second: number, reason = 'rejected'): NewsletterEvent => {
  return { ...sent(n, second), kinds: ['rejected'], rejected: reason };
};
const delivered = (n: number, second: number): NewsletterEvent => {
  return { ...sent(n, second), kinds: ['accepted', 'delivered'] };
};
const everybody = (...events: NewsletterEvent[]) => refusedLate([lateAfter({}, events, 3)], 3)?.reason;

describe('whether everybody was refused late', () => {
  it.each<[string, string | undefined, NewsletterEvent[]]>([
    ['enough in a row', 'rejected', [rejected(0, 1), rejected(1, 2), rejected(2, 3)]],
    ['too few', undefined, [rejected(0, 1), rejected(1, 2)]],
    [
      'one recipient, told again and again',
      undefined,
      [rejected(0, 1), rejected(0, 1), rejected(0, 2), rejected(1, 2)],
    ],
    ['one that went on between', undefined, [rejected(0, 1), delivered(9, 2), rejected(1, 3), rejected(2, 3)]],
    [
      'one that went on before, and is told afterwards',
      'rejected',
      [1, 2, 3].map((n) => rejected(n, n + 1)).concat(delivered(9, 1)),
    ],
    ['one of the same call', undefined, [1, 2, 3].map((n) => rejected(n, 1)).concat(delivered(9, 1))],
    ['different reasons', undefined, [rejected(0, 1), rejected(1, 2), rejected(2, 3, 'rendering_failure')]],
    ["SES's own list", undefined, [0, 1, 2].map((n) => rejected(n, n, 'INVALID_RECIPIENT'))],
    [
      'one that was only accepted',
      'rejected',
      [...[0, 1, 2].map((n) => rejected(n, n)), { ...sent(9, 9), kinds: ['accepted'] }],
    ],
  ])('%s: %s, in whatever order events come', (_, reason, events) => {
    expect(everybody(...events)).toBe(reason);
    expect(everybody(...events.toReversed())).toBe(reason);
  });

  it('counts over batches, and keeps no more than it needs', () => {
    const [a, b] = [lateAfter({}, [rejected(0, 1)], 3), lateAfter({}, [rejected(0, 2), rejected(1, 3)], 3)];
    expect(refusedLate([a, b, {}], 3)).toEqual({ reason: 'rejected', from: '' });
    expect(refusedLate([a, b, lateAfter({}, [delivered(5, 2)], 3)], 3)).toBeUndefined();
    const many = Array.from({ length: 50 }, (_, n) => rejected(n, n));
    expect(lateAfter({}, many, 3)).toEqual({ late_refusals: { rejected: { 47: at(47), 48: at(48), 49: at(49) } } });
  });
});

describe('a mail that was refused with everybody, and told of when mails go on again', () => {
  const prepared = { recipients: 6, excluded: 0, excluded_by_reason: {}, batches: 1, at: at(0) };

  async function mailing(status: Email['status'] = 'submitted') {
    let now = at(9);
    const tables = new MemoryEmails(() => new Date(now));
    const chunks = new MemoryChunks();
    const state = chunkState('ssssss', { message_ids: Object.fromEntries([...'012345'].map((n) => [n, `id ${n}`])) });
    await tables.emails.create(emailRow({ status, prepared }), emailContent());
    await tables.batches.put(batchFor([state], { status: 'submitted' }));
    await chunks.store.put([{ chunk: chunkOf(6), state }]);
    const deps = {
      ...{ emails: tables.emails, batches: tables.batches, events: tables.events, chunks: chunks.store },
      members: { suppress: async () => {}, read: async () => undefined },
      sealing: { emailHash: async () => '' },
      warming: { report: async () => {} },
      clock: () => new Date(now),
      limits: { ...DEFAULT_JOB_LIMITS, refused_recipients: 3 },
    };
    const tell = (...events: NewsletterEvent[]) => applyEvents('email-1', '00000', events, deps);
    const set = async (changes: Partial<Email>) => {
      const email = await tables.emails.read('email-1');
      return email && tables.emails.change(email, { set: changes });
    };
    const read = async () => ({
      states: (await chunks.store.readState(place))?.states,
      email: await tables.emails.read('email-1'),
    });
    await tell(rejected(0, 4), rejected(1, 5), rejected(2, 6));
    expect((await read()).states).toBe('...sss');
    if (status === 'failed') await set({ status: 'submitting' });
    else expect((await read()).email).toMatchObject({ status: 'submitting', hold: { late: true } });
    now = at(20);
    await tell(delivered(3, 15));
    expect((await read()).email).not.toHaveProperty('hold');
    return { tell, read, set, tables };
  }
  const ofMail = (event: NewsletterEvent, message_id: string) => ({ ...event, message_id });

  it('is sent to again, once', async () => {
    const { tell, read, set } = await mailing();
    await set({ status: 'submitted' });
    await tell(ofMail(rejected(4, 7), 'id 4'));
    expect(await read()).toMatchObject({ states: '...s.s', email: { status: 'submitting' } });
  });

  it('is sent to again where the email had failed and goes on', async () => {
    const { tell, read } = await mailing('failed');
    await tell(ofMail(rejected(4, 7), 'id 4'));
    expect((await read()).states).toBe('...s.s');
  });

  it('is not forgotten by an end that was decided before', async () => {
    const { tell, read, tables } = await mailing();
    const { email } = await read();
    if (email === undefined) throw new Error('There is no email.');
    await tell(ofMail(rejected(4, 7), 'id 4'));
    const end = endOf(email, await tables.batches.list('email-1'), new Date(at(21)));
    expect(await tables.emails.change(email, end)).toBeUndefined();
    expect((await read()).email).toMatchObject({ status: 'submitting', next_at: at(20) });
  });

  it.each<[string, NewsletterEvent]>([
    ['after them', rejected(4, 16)],
    ['for another reason', rejected(4, 7, 'rendering_failure')],
    ['as another mail of the recipient', ofMail(rejected(4, 7), 'id 9')],
  ])('fails where it was refused %s', async (_, event) => {
    const { tell, read } = await mailing();
    await tell(event);
    expect((await read()).states).toBe(event.message_id === undefined ? '...sfs' : '...sss');
  });
});
