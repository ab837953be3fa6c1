import { expect, it } from 'vitest';
import { describeEmail } from '../../../src/batch/sending-job/email-report.ts';
import { emailView } from '../../../src/core/newsletter/views/email-view.ts';
import { COLORS } from '../../../src/terminal/printable.ts';
import { batchFor, chunkState, emailRow } from '../../support/newsletter/job-rows.ts';

/** The beginning of the report of a submitted email whose recipients have these states. */
function reported(codes: string, uncertain_left = 0): string {
  const at = '2026-03-01T10:00:00.000Z';
  const prepared = { recipients: codes.length, excluded: 0, excluded_by_reason: {}, batches: 1, at };
  const email = emailRow({ status: 'submitted', submitted_at: at, prepared });
  const batches = [batchFor([chunkState(codes)], { status: 'submitted', uncertain_left })];
  return describeEmail(emailView({ email, batches, events: [] }, new Date(at), undefined), false);
}

it.each([
  ['everybody got it', 'ssss', 0, 'green'],
  ['nobody knows of three of four', 'suuu', 0, 'yellow'],
  ['an operator decided about those', 'suuu', 3, 'green'],
  ['one was refused for good', 'sssf', 0, 'yellow'],
] as const)('a submitted e-mail where %s is shown so', (_, codes, left, color) => {
  expect(reported(codes, left)).toContain(COLORS[color]('submitted'));
});
