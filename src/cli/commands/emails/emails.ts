import { type Command, Option } from 'commander';
import { describeEmail, doneOf, isOver, summaryOf } from '../../../batch/sending-job/email-report.ts';
import { SHOWN_STATES, type ShownState } from '../../../core/newsletter/model/recipient-state.ts';
import type { ListedEmail } from '../../../core/newsletter/views/email-view.ts';
import type { RecipientView } from '../../../core/newsletter/views/list-recipients.ts';
import type { EmailAction } from '../../../operator-service/contract/choices.ts';
import {
  decideEmail,
  emailAccess,
  listEmails,
  recipientsOf,
  resolveUncertain,
  showEmail,
} from '../../../operator-service/emails.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { ago, table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session, sayNext } from '../../session/session.ts';

interface ListOptions {
  readonly tenant: string;
  readonly limit: number;
}

export function addEmailsList(emails: Command, context: CliContext): void {
  const command = emails
    .command('list')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .option('--limit <N>', 'at most this many', parseCount, 20)
    .description("list a tenant's mailings, newest first")
    .addHelpText('after', '\nExample:\n  npm run ops -- emails list --tenant TENANT001');
  onDeployment<ListOptions>(command, context, list);
}

async function list(session: Session, { tenant, limit }: ListOptions): Promise<number> {
  const access = emailAccess(session);
  const now = session.clock();
  const found: ListedEmail[] = [];
  let cursor: string | undefined;
  do {
    const page = await listEmails(tenant, cursor, access);
    found.push(...page.emails);
    cursor = page.next;
  } while (cursor !== undefined && found.length < limit);
  const shown = found.slice(0, limit);
  printResult(session, shown, () =>
    shown.length === 0
      ? `${tenant} has no mailings.\n`
      : table<ListedEmail>(
          [
            { title: 'subject', of: ({ subject }) => subject?.slice(0, 40) ?? '–' },
            { title: 'newsletter', of: ({ newsletter_id }) => newsletter_id },
            { title: 'phase', of: ({ phase }) => phase },
            { title: 'recipients', of: ({ email_count }) => email_count },
            { title: 'delivered', of: ({ rates }) => percent(rates?.delivered) },
            { title: 'opened', of: ({ rates }) => percent(rates?.opened) },
            { title: 'bounced', of: ({ rates }) => percent(rates?.bounced) },
            { title: 'segment', of: ({ segment }) => segment },
            { title: 'published', of: ({ created_at }) => ago(created_at, now) },
            { title: 'error', of: ({ error }) => error?.slice(0, 60) },
            { title: 'email', of: ({ email_id }) => email_id },
          ],
          shown,
          session.terminal.colors,
        ),
  );
  return 0;
}

const percent = (share: number | undefined) =>
  share === undefined ? undefined : `${Number((100 * share).toFixed(1))} %`;

const LOOK_EVERY_MS = 2_000;

export function addEmailsStatus(emails: Command, context: CliContext): void {
  const command = emails
    .command('status')
    .argument('<ID>', 'the email_id', parseId)
    .option('--watch', 'follow it until it is submitted, failed or cancelled')
    .description('show how far a mailing is, at which rate, and whom it was not sent to')
    .addHelpText('after', '\nWith --watch the exit code is 1 when the mailing failed or was cancelled.');
  onDeployment<{ readonly watch?: boolean }>(command, context, (session, { watch = false }, [id = '']) =>
    status(session, id, watch),
  );
}

async function status(session: Session, id: string, watch: boolean): Promise<number> {
  const access = emailAccess(session);
  const progress = watch ? showProgress(session) : undefined;
  try {
    let view = (await showEmail(id, access)).view;
    while (progress !== undefined && !isOver(view)) {
      progress.update({
        verb: view.phase,
        done: doneOf(view),
        total: view.counts.recipients || undefined,
        summary: summaryOf(view),
      });
      await session.pause(LOOK_EVERY_MS);
      view = (await showEmail(id, access)).view;
    }
    progress?.end();
    printResult(session, view, () => describeEmail(view, session.terminal.colors, session.local));
    return watch && view.status !== 'submitted' ? EXIT_FAILED : 0;
  } finally {
    progress?.end();
  }
}

interface RecipientsOptions {
  readonly state?: ShownState;
  readonly limit: number;
  readonly addresses?: boolean;
}

export function addEmailsRecipients(emails: Command, context: CliContext): void {
  const command = emails
    .command('recipients')
    .argument('<ID>', 'the email_id', parseId)
    .addOption(new Option('--state <STATE>', 'only those in this state').choices(SHOWN_STATES))
    .option('--limit <N>', 'at most this many', parseCount, 100)
    .option('--addresses', 'show addresses and names; it needs the right to decrypt them')
    .description('list the recipients of a mailing: state, reason, and what events told')
    .addHelpText('after', '\nExample:\n  npm run ops -- emails recipients ID --state uncertain --addresses');
  onDeployment<RecipientsOptions>(command, context, recipients);
}

async function recipients(
  session: Session,
  options: RecipientsOptions,
  [email_id = '']: readonly string[],
): Promise<number> {
  const { addresses = false } = options;
  const shown = await recipientsOf(email_id, { ...options, addresses }, emailAccess(session), session.decide);
  printResult(session, shown, () =>
    shown.length === 0
      ? 'No recipients.\n'
      : table<RecipientView>(
          [
            { title: 'member', of: ({ member_id }) => member_id },
            ...(addresses ? [{ title: 'address', of: ({ member_email }: RecipientView) => member_email }] : []),
            { title: 'state', of: (one) => one.state },
            { title: 'reason', of: ({ reason }) => reason },
            { title: 'batch', of: ({ batch_id }) => batch_id },
            { title: 'processed', of: ({ processed_at }) => processed_at },
            { title: 'events', of: ({ events }) => events.join(', ') || undefined },
          ],
          shown,
          session.terminal.colors,
        ),
  );
  return 0;
}

const DECISIONS: readonly (readonly [EmailAction, string])[] = [
  ['retry', 'send what a failed mailing has not submitted'],
  ['pause', 'stop giving out batches; those in progress stop within seconds'],
  ['resume', 'go on with a paused mailing'],
  ['cancel', 'end a mailing: nobody gets it who has not been sent to yet'],
];

interface ResolveOptions {
  readonly resend?: boolean;
  readonly leave?: boolean;
}

/** An operator's decisions about a mailing. */
export function addEmailsDecisions(emails: Command, context: CliContext): void {
  for (const [action, what] of DECISIONS) {
    const command = emails.command(action).argument('<ID>', 'the email_id', parseId).description(what);
    onDeployment(command, context, async (session, _, [id = '']) => {
      const { email_id, status, paused } = await decideEmail(id, action, emailAccess(session), session.decide);
      printResult(
        session,
        { email_id, status, paused },
        () => `${email_id} is ${status}${paused ? ', and paused' : ''}.\n`,
      );
      if (paused) sayNext('Go on with it', `emails resume ${email_id}`, session);
      return 0;
    });
  }
  const command = emails
    .command('resolve')
    .argument('<ID>', 'the email_id', parseId)
    .addOption(
      new Option(
        '--resend',
        'send to them again, at the risk of a second mail; SES may still tell of the last: they wait',
      ).conflicts('leave'),
    )
    .addOption(new Option('--leave', 'leave it at that'))
    .description('decide about uncertain recipients, of whom nobody knows whether they got the mail');
  onDeployment<ResolveOptions>(command, context, resolve);
}

async function resolve(
  session: Session,
  { resend = false, leave = false }: ResolveOptions,
  [id = '']: readonly string[],
): Promise<number> {
  if (resend === leave) throw new OperatorError('Say what to do: --resend or --leave.', EXIT_USAGE);
  const action = resend ? 'resend' : 'leave';
  const { email_id, status, ...reached } = await resolveUncertain(id, action, emailAccess(session), session.decide);
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
  return 0;
}
