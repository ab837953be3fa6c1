import type { Command } from 'commander';
import { emailAccess, readEmailView } from '../../../adapters/deployment/email-access.ts';
import { describeEmail, doneOf, isOver, summaryOf } from '../../../batch/sending-job/email-report.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

const LOOK_EVERY_MS = 2_000;

export function addEmailsStatus(emails: Command, context: CliContext): void {
  const command = emails
    .command('status')
    .argument('<ID>', 'the email_id', parseId)
    .option('--watch', 'follow it until it is submitted, failed or cancelled')
    .description('show how far an e-mail is, at which rate, and whom it was not sent to')
    .addHelpText('after', '\nWith --watch the exit code is 1 when the e-mail failed or was cancelled.');
  onDeployment<{ readonly watch?: boolean }>(command, context, (session, { watch = false }, [id = '']) =>
    status(session, id, watch),
  );
}

async function status(session: Session, id: string, watch: boolean): Promise<number> {
  const access = emailAccess(session);
  const progress = watch ? showProgress(session) : undefined;
  try {
    let view = await readEmailView(id, access);
    while (progress !== undefined && !isOver(view)) {
      progress.update({
        verb: view.phase,
        done: doneOf(view),
        total: view.counts.recipients || undefined,
        summary: summaryOf(view),
      });
      await session.pause(LOOK_EVERY_MS);
      view = await readEmailView(id, access);
    }
    progress?.end();
    printResult(session, view, () => describeEmail(view, session.terminal.colors));
    return watch && view.status !== 'submitted' ? EXIT_FAILED : 0;
  } finally {
    progress?.end();
  }
}
