import { describe, expect, it } from 'vitest';
import { NewsletterAuditor } from '../../simulation/audit/newsletter-auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
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
      auditor.read({ ...NONE, pending: 1, excluded: 1 }, 2);
      auditor.read({ ...NONE, submitted: 1, excluded: 1 }, 2);
      auditor.unsubscribed(1, T0);
      auditor.finish(0, 0, 'submitted', undefined);
      auditor.finish(1, 0, 'excluded', 'repeated_address');
      auditor.end('submitted', { ...NONE, submitted: 1, excluded: 1 });
    });
    expect(found).toEqual([]);
  });

  it.each<[string, (auditor: NewsletterAuditor) => void]>([
    ['got the mail twice', (auditor) => auditor.accepted(0, T0 + 1)],
    ['more than two batches', (auditor) => [{}, {}, {}].forEach((worker) => void auditor.called(worker, [1], 0))],
    [
      'slots were given away for more than two calls',
      (auditor) => [0, 0, 0, 10_000].forEach((at, i) => void auditor.called({ i }, [1], at)),
    ],
    ['more than 50 recipients', (auditor) => auditor.called({}, Array<number>(51).fill(1), 0)],
    [
      'long after the recipient had unsubscribed',
      (auditor) => {
        auditor.unsubscribed(1, T0);
        auditor.accepted(1, T0 + 15 * MINUTE + 1);
      },
    ],
    ['add up to 1 of 2', (auditor) => auditor.read({ ...NONE, pending: 1 }, 2)],
    ['below zero', (auditor) => auditor.read({ ...NONE, pending: -1, submitted: 3 }, 2)],
    [
      'fewer are submitted',
      (auditor) => [1, 0].forEach((submitted) => void auditor.read({ ...NONE, submitted, pending: 2 - submitted }, 2)),
    ],
    ['an address or a body', (auditor) => auditor.queued('{"to":"m1@example.test"}')],
    ['in the table twice', (auditor) => [0, 0].forEach(() => void auditor.finish(0, 0, 'submitted', undefined))],
    ['left over', (auditor) => auditor.finish(1, 1, 'pending', undefined)],
    ['nobody got it', (auditor) => auditor.finish(1, 1, 'submitted', undefined)],
    ['nobody got it', (auditor) => auditor.finish(1, 0, 'submitted', undefined)],
    ['failed, and it was received', (auditor) => auditor.finish(0, 0, 'failed', 'refused')],
    ['excluded, and it was received', (auditor) => auditor.finish(0, 0, 'excluded', 'suppressed')],
    ['failed without a reason', (auditor) => auditor.finish(1, 1, 'failed', undefined)],
    ['is failed at the end', (auditor) => auditor.end('failed', NONE)],
    ['a member is no recipient', (auditor) => auditor.end('submitted', NONE)],
    ['count 1 uncertain, and the chunks 0', (auditor) => auditor.end('submitted', { ...NONE, uncertain: 1 })],
  ])('reports: %s', (violation, happen) => {
    expect(examples(happen).join()).toContain(violation);
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
