import { type Command, Option } from 'commander';
import { emailAccess, existingEmail } from '../../../adapters/deployment/email-access.ts';
import {
  cancelEmail,
  type OperateDeps,
  pauseEmail,
  resumeEmail,
  retryEmail,
} from '../../../core/newsletter/lifecycle/operate.ts';
import { resolveEmail } from '../../../core/newsletter/lifecycle/resolve.ts';
import type { Email } from '../../../core/newsletter/model/email.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { sayNext } from '../../session/next-step.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface Decision {
  readonly name: string;
  readonly what: string;
  readonly run: (email_id: string, deps: OperateDeps) => Promise<Email>;
}

const DECISIONS: readonly Decision[] = [
  { name: 'retry', what: 'send what a failed e-mail has not submitted', run: retryEmail },
  { name: 'pause', what: 'stop giving out batches; those in progress stop within seconds', run: pauseEmail },
  { name: 'resume', what: 'go on with a paused e-mail', run: resumeEmail },
  { name: 'cancel', what: 'end an e-mail: nobody gets it who has not been sent to yet', run: cancelEmail },
];

interface ResolveOptions {
  readonly resend?: boolean;
  readonly leave?: boolean;
}

/** An operator's decisions about an e-mail. */
export function addEmailsDecisions(emails: Command, context: CliContext): void {
  for (const { name, what, run } of DECISIONS) {
    const command = emails.command(name).argument('<ID>', 'the email_id', parseId).description(what);
    onDeployment(command, context, async (session, _, [id = '']) => {
      const access = emailAccess(session);
      await existingEmail(id, access);
      const { email_id, status, paused } = await run(id, access);
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
  const access = emailAccess(session);
  await existingEmail(id, access);
  const { email, ...reached } = await resolveEmail(id, resend ? 'resend' : 'leave', access);
  const { email_id, status } = email;
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
