import { describeEmail } from '../../batch/sending-job/email-report.ts';
import type { Colors } from '../../terminal/colors.ts';
import type { Endpoints } from '../runtime/endpoints-file.ts';
import type { NewsletterReport } from './demo-newsletter.ts';

/** Why somebody gets no newsletter, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  suppressed: 'bounced, complained, or suppressed by an operator',
  repeated_address: 'the address of another member, who got the mail',
  malformed_address: 'no address that mail can be sent to',
  unsubscribed: 'left while the newsletter was sent',
  message_rejected: 'SES refused this one; its neighbours were sent',
};

const REASON_WIDTH = 17;

/** What became of the newsletter, who got none and why, and where to look next. */
export function describeNewsletter(
  { view, examples }: NewsletterReport,
  { endpoints }: Endpoints,
  colors: Colors,
): string[] {
  const { email_id } = view;
  return [
    colors.bold('What became of the newsletter'),
    `  ${describeEmail(view, colors).trimEnd()}`,
    '',
    colors.bold('One of each who got none'),
    ...examples.flatMap(({ member_id, reason = '', state }) => [
      `  ${colors.cyan(reason.padEnd(REASON_WIDTH))}  ${member_id}  ${state}`,
      ...(REASONS[reason] === undefined
        ? []
        : [`  ${' '.repeat(REASON_WIDTH)}  ${colors.dim(`→ ${REASONS[reason]}`)}`]),
    ]),
    '',
    colors.bold('Where to look at the newsletter'),
    `  npm run ops -- emails status ${email_id} --local`,
    `  npm run ops -- emails recipients ${email_id} --state excluded --local`,
    `  its mails  ${endpoints.ses}/_bulk`,
    '',
  ];
}
