import { expect, it } from 'vitest';
import type { Batch } from '../../../../src/core/newsletter/model/batch.ts';
import type { Email, Hold } from '../../../../src/core/newsletter/model/email.ts';
import { emailView, ratesOf } from '../../../../src/core/newsletter/views/email-view.ts';
import { batchRow, emailRow } from '../../../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T11:00:00.000Z');
const at = (minutes: number) => new Date(NOW.getTime() + 60_000 * minutes).toISOString();
const HOLD: Omit<Hold, 'for'> = { ask_at: at(2), asked: 0, since: at(-1) };
const prepared = { recipients: 3, excluded: 0, excluded_by_reason: {}, batches: 1, at: at(-5) };

/** What an email says that is being sent, and of which no batch is in progress. */
function waitsOf(email: Partial<Email>, batch: Partial<Batch> = {}) {
  const row = emailRow({ status: 'submitting', prepared, ...email });
  const { phase, waits } = emailView({ email: row, batches: [batchRow(batch)], events: [] }, NOW, undefined);
  return { phase, ...waits };
}

it.each<[string, Partial<Email>, Partial<Batch>, object]>([
  ['a retry', { next_at: at(2) }, { provider_failures: 1, not_before: at(2) }, { for: 'retry', until: at(2) }],
  [
    'an answer',
    { next_at: at(3), silence: { calls: 2, until: at(3) } },
    {},
    { for: 'silence', until: at(3), asks_at: at(3) },
  ],
  [
    'its window',
    { delivery_deadline: at(90), next_batch_at: at(4), next_at: at(4) },
    {},
    { for: 'window', until: at(4) },
  ],
  [
    'a quota beside its window',
    { delivery_deadline: at(90), next_batch_at: at(4), hold: { ...HOLD, for: 'quota', until: at(600) } },
    {},
    { for: 'allowance', until: at(600), asks_at: at(2), message: expect.stringContaining('quota') },
  ],
  [
    'an account that is paused, while a batch asks',
    { slots: { 0: { batch_id: '00000', since: at(-1) } }, hold: { ...HOLD, for: 'account', message: 'Paused.' } },
    {},
    { for: 'account', until: at(2), asks_at: at(2), message: expect.stringContaining('“Paused.”') },
  ],
  [
    'what an earlier version wrote',
    { next_batch_at: at(15), next_at: at(15) },
    {},
    { for: 'allowance', until: at(15) },
  ],
])('an email that waits for %s says so, and until when', (_, email, batch, expected) => {
  expect(waitsOf(email, batch)).toEqual({ phase: 'waiting', ...expected });
});

it('one that is being sent waits for nothing', () => {
  const slots = { 0: { batch_id: '00000', since: at(-1) } };
  expect(waitsOf({ slots, next_batch_at: at(1), next_at: at(1) })).toEqual({ phase: 'sending' });
});

it('rates are shares of the submitted mails, and there are none before', () => {
  const row = emailRow({ status: 'submitting', prepared });
  const view = (submitted: number) => {
    const counts = { pending: 3 - submitted, submitted, excluded: 0, failed: 0, uncertain: 0 };
    const bits = { delivered: new Uint8Array([1]), bounced: new Uint8Array([2]) };
    const events = [{ email_id: 'email-1', batch_id: '00000', version: 1, bits }];
    return ratesOf(emailView({ email: row, batches: [batchRow({ counts })], events }, NOW, undefined));
  };
  expect(view(0)).toEqual({});
  expect(view(2)).toEqual({ rates: { delivered: 0.5, opened: 0, clicked: 0, bounced: 0.5 } });
});
