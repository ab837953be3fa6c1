import { describe, expect, it } from 'vitest';
import { type EmailSeen, NewsletterAuditor } from '../../simulation/audit/newsletter-auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
const EMAIL: EmailSeen = {
  ...{ status: 'submitting', cancelled: false, paused: false, slots: 1, active: true, due: true },
  prepared: { recipients: 2, batches: 1 },
};
const DONE: EmailSeen = { ...EMAIL, status: 'submitted', active: false };
const NONE = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };

/** Two recipients; the first one got its mail. */
function oneAccepted() {
  const auditor = new NewsletterAuditor(2);
  const worker = {};
  auditor.called(worker, [0], 0);
  auditor.accepted(0, T0);
  auditor.ended(worker);
  return auditor;
}

function examples(happen: (auditor: NewsletterAuditor) => void): readonly string[] {
  const auditor = oneAccepted();
  happen(auditor);
  return auditor.result().examples;
}

describe('the auditor of a newsletter', () => {
  it('finds nothing wrong with one recipient who got the mail and one who was excluded', () => {
    const found = examples((auditor) => {
      auditor.read(EMAIL, { ...NONE, pending: 1, excluded: 1 }, T0);
      auditor.read(DONE, { ...NONE, submitted: 1, excluded: 1 }, T0 + MINUTE);
      auditor.unsubscribed(1, T0);
      auditor.finish(0, 0, 'submitted', undefined);
      auditor.finish(1, 0, 'excluded', 'repeated_address');
      auditor.end(DONE, { ...NONE, submitted: 1, excluded: 1 }, 1);
    });
    expect(found).toEqual([]);
  });

  it.each<[string, (auditor: NewsletterAuditor) => void]>([
    ['got the mail twice', (auditor) => auditor.accepted(0, T0 + 1)],
    [
      'although the provider told',
      (auditor) => {
        auditor.allowed(1);
        auditor.accepted(1, T0, true);
        auditor.accepted(1, T0);
      },
    ],
    [
      'got the mail twice',
      (auditor) => {
        auditor.allowed(0);
        auditor.accepted(0, T0);
        auditor.accepted(0, T0);
      },
    ],
    ['3 batches have a slot', (auditor) => auditor.read({ ...EMAIL, slots: 3 }, { ...NONE, pending: 2 }, T0)],
    ['nothing comes back', (auditor) => auditor.read({ ...EMAIL, active: false }, { ...NONE, pending: 2 }, T0)],
    [
      'idle although it is due',
      (auditor) =>
        [0, 20].forEach(
          (minutes) =>
            void auditor.read({ ...EMAIL, status: 'pending' }, { ...NONE, pending: 2 }, T0 + minutes * MINUTE),
        ),
    ],
    [
      'somebody is left to send to',
      (auditor) =>
        [0, 20].forEach(
          (minutes) => void auditor.read(DONE, { ...NONE, pending: 1, submitted: 1 }, T0 + minutes * MINUTE),
        ),
    ],
    ['TypeError', (auditor) => auditor.threw('TypeError: x is undefined')],
    [
      'before the recipients were frozen',
      (auditor) => auditor.end({ ...EMAIL, cancelled: true, prepared: undefined }, NONE, 0),
    ],
    ['the email is submitted at the end', (auditor) => auditor.end({ ...DONE, cancelled: true }, NONE, 1)],
    ['2 batches of 1', (auditor) => auditor.end(DONE, NONE, 2)],
    ['more than 2 batches', (auditor) => [{}, {}, {}].forEach((worker) => void auditor.called(worker, [1], 0))],
    [
      'slots were given away for more than 2 calls',
      (auditor) => [0, 0, 10_000, 10_000, 20_000].forEach((at, i) => void auditor.called({ i }, [1], at)),
    ],
    ['more than 50 recipients', (auditor) => auditor.called({}, Array<number>(51).fill(1), 0)],
    [
      'long after the recipient had unsubscribed',
      (auditor) => {
        auditor.unsubscribed(1, T0);
        auditor.accepted(1, T0 + 15 * MINUTE + 1);
      },
    ],
    ['add up to 1 of 2', (auditor) => auditor.read(EMAIL, { ...NONE, pending: 1 }, T0)],
    ['below zero', (auditor) => auditor.read(EMAIL, { ...NONE, pending: -1, submitted: 3 }, T0)],
    [
      'fewer are submitted',
      (auditor) =>
        [1, 0].forEach((submitted) => void auditor.read(EMAIL, { ...NONE, submitted, pending: 2 - submitted }, T0)),
    ],
    ['an address or a body', (auditor) => auditor.queued('{"to":"m1@example.test"}')],
    ['in the table twice', (auditor) => [0, 0].forEach(() => void auditor.finish(0, 0, 'submitted', undefined))],
    ['left over', (auditor) => auditor.finish(1, 1, 'pending', undefined)],
    ['nobody got it', (auditor) => auditor.finish(1, 1, 'submitted', undefined)],
    ['nobody got it', (auditor) => auditor.finish(1, 0, 'submitted', undefined)],
    ['failed, and it was received', (auditor) => auditor.finish(0, 0, 'failed', 'refused')],
    ['excluded, and it was received', (auditor) => auditor.finish(0, 0, 'excluded', 'suppressed')],
    ['failed without a reason', (auditor) => auditor.finish(1, 1, 'failed', undefined)],
    ['is failed at the end', (auditor) => auditor.end({ ...EMAIL, status: 'failed' }, NONE, 1)],
    ['a member is no recipient', (auditor) => auditor.end(DONE, NONE, 1)],
    ['count 1 uncertain, and the chunks 0', (auditor) => auditor.end(DONE, { ...NONE, uncertain: 1 }, 1)],
  ])('reports: %s', (violation, happen) => {
    expect(examples(happen).join()).toContain(violation);
  });

  it('finds nothing wrong with a second mail that an operator allowed while nothing told of the first', () => {
    const found = examples((auditor) => {
      auditor.allowed(0);
      auditor.accepted(0, T0);
    });
    expect(found).toEqual([]);
  });

  it('does not count a worker that has died among the batches at once', () => {
    const found = examples((auditor) => {
      const [dead, ...alive] = [{}, {}, {}];
      auditor.called(dead, [1], 0);
      auditor.ended(dead);
      for (const worker of alive) auditor.called(worker, [1], 0);
    });
    expect(found).toEqual([]);
  });
});
