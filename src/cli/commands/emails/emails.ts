import { emailAccess } from '../../../application/emails/email-access.ts';
import {
  decideEmail,
  listEmails,
  recipientsOf,
  resolveUncertain,
  showEmail,
} from '../../../application/emails/emails.ts';
import { describeEmail, followEmail } from '../../../batch/sending-job/email-report.ts';
import { SHOWN_STATES } from '../../../core/newsletter/model/batch.ts';
import type { ListedEmail } from '../../../core/newsletter/views/email-view.ts';
import { choice, required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { withProgress } from '../../../terminal/progress.ts';
import { ago, cut, table } from '../../../terminal/table.ts';
import { onDeployment, sayNext } from '../../session/session.ts';

export const addEmailsList = onDeployment({
  name: 'list',
  says: "list a tenant's mailings, newest first",
  options: {
    '--tenant <ID>': required(value('the tenant', parseId)),
    '--limit <N>': value('at most this many', parseCount, 20),
  },
  help: '\nExample:\n  npm run ops -- emails list --tenant TENANT001',
  async run(session, { tenant, limit }) {
    const access = emailAccess(session);
    const now = session.clock();
    const found: ListedEmail[] = [];
    let cursor: string | undefined;
    do {
      const page = await listEmails({ tenant, cursor }, access, { rates: true });
      found.push(...page.emails);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined && found.length < limit);
    const shown = found.slice(0, limit);
    printResult(session, shown, () =>
      shown.length === 0
        ? `${tenant} has no mailings.\n`
        : table(shown, [
            ['subject', ({ subject }) => subject && cut(subject, 40)],
            ['newsletter', 'newsletter_id', 'wide'],
            'phase',
            ['recipients', 'email_count'],
            ['delivered', ({ rates }) => percent(rates?.delivered), 'wide'],
            ['opened', ({ rates }) => percent(rates?.opened), 'wide'],
            ['bounced', ({ rates }) => percent(rates?.bounced), 'wide'],
            ['segment', 'segment', 'wide'],
            ['published', ({ created_at }) => ago(created_at, now), 'wide'],
            'error',
            ['email', 'email_id'],
          ]),
    );
  },
});

const percent = (share: number | undefined) =>
  share === undefined ? undefined : `${Number((100 * share).toFixed(1))} %`;

const ID = value('the email_id', parseId);

export const addEmailsStatus = onDeployment({
  name: 'status',
  says: 'show the progress and rate of a mailing, and whom it was not sent to',
  args: { '<ID>': ID },
  options: { '--watch': 'follow it until it is submitted, failed or cancelled' },
  help: '\nWith --watch the exit code is 1 when the mailing failed or was cancelled.',
  async run(session, { watch = false }, [id = '']) {
    const access = emailAccess(session);
    const view = watch
      ? await withProgress(session, (progress) => followEmail(id, access, progress, session.pause))
      : (await showEmail(id, access)).view;
    printResult(session, view, () => describeEmail(view, session.local));
    return watch && view.status !== 'submitted' ? EXIT_FAILED : 0;
  },
});

export const addEmailsRecipients = onDeployment({
  name: 'recipients',
  says: 'list the recipients of a mailing: state, reason and delivery events',
  args: { '<ID>': ID },
  options: {
    '--state <STATE>': choice('only those in this state', SHOWN_STATES),
    '--limit <N>': value('at most this many', parseCount, 100),
    '--addresses': 'show addresses and names; it needs the right to decrypt them',
  },
  help: '\nExample:\n  npm run ops -- emails recipients ID --state uncertain --addresses',
  async run(session, { addresses = false, ...options }, [id = '']) {
    const wanted = { ...options, identities: addresses };
    const shown = await session.decide(recipientsOf(id, wanted, emailAccess(session)));
    printResult(session, shown, () =>
      shown.length === 0
        ? 'No recipients.\n'
        : table(shown, [
            ['member', 'member_id'],
            ...(addresses ? [['address', 'member_email'] as const] : []),
            'state',
            'reason',
            ['batch', 'batch_id', 'wide'],
            ['processed', 'processed_at', 'wide'],
            ['events', ({ events }) => events.join(', ') || undefined],
          ]),
    );
  },
});

export const EMAIL_DECISIONS = (
  [
    ['retry', 'send what a failed mailing has not submitted'],
    ['pause', 'pause a mailing within seconds'],
    ['resume', 'resume a paused mailing'],
    ['cancel', 'cancel a mailing for everybody it has not been sent to yet'],
  ] as const
).map(([name, says]) =>
  onDeployment({
    name,
    says,
    args: { '<ID>': ID },
    async run(session, _, [id = '']) {
      const { email_id, status, paused } = await session.decide(decideEmail(id, name, emailAccess(session)));
      const answer = { email_id, status, paused };
      printResult(session, answer, () => `${email_id} is ${status}${paused ? ', and paused' : ''}.\n`);
      if (paused) sayNext('Go on with it', `emails resume ${email_id}`, session);
    },
  }),
);

export const addEmailsResolve = onDeployment({
  name: 'resolve',
  says: 'decide about uncertain recipients, who may or may not have got the mail',
  args: { '<ID>': ID },
  options: {
    '--resend': 'send to them again, at the risk of a second mail; those that SES may still report on wait',
    '--leave': 'close them without sending again',
  },
  async run(session, { resend = false, leave = false }, [id = '']) {
    if (resend === leave) throw new OperatorError('Say what to do: --resend or --leave.', EXIT_USAGE);
    const action = resend ? 'resend' : 'leave';
    const { email_id, status, ...reached } = await session.decide(resolveUncertain(id, action, emailAccess(session)));
    const { resolved, busy, continued, waiting, waiting_until } = reached;
    printResult(session, { email_id, status, ...reached }, () => {
      const toSend = status === 'failed' ? 'are to be sent again' : 'are sent again';
      const done = resend ? toSend : 'are left as they are';
      return `${[
        `${resolved} uncertain recipients ${done}. ${email_id} is ${status}.`,
        ...(resend && status === 'failed' ? [`Send what is missing: emails retry ${email_id}`] : []),
        ...(continued ? ['There are more: the functions go on with the decision.'] : []),
        ...(busy > 0
          ? [`Batches that are being sent just now: ${busy}. Resolve the email again when they are done.`]
          : []),
        ...(waiting > 0
          ? [`Recipients of whom SES's events may still tell: ${waiting}. Resolve the email again at ${waiting_until}.`]
          : []),
      ].join('\n')}\n`;
    });
  },
});
