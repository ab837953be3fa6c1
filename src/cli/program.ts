import { Command } from 'commander';
import { addSpoolCommands } from '../client/spool/commands/program.ts';
import { runCommand, writingTo } from '../terminal/run-command.ts';
import { addAudit } from './commands/console/audit.ts';
import { addConsole } from './commands/console/console.ts';
import { addDlqDrop, addDlqList, addDlqRedrive, addDlqShow } from './commands/dead-letters/dead-letters.ts';
import { addEmailsReplace, addEmailsTest } from './commands/emails/drafts.ts';
import { addEmailsDecisions, addEmailsList, addEmailsRecipients, addEmailsStatus } from './commands/emails/emails.ts';
import {
  addNewslettersCreate,
  addNewslettersList,
  addNewslettersShow,
  addSenders,
} from './commands/emails/newsletters.ts';
import { addEmailsSend } from './commands/emails/send.ts';
import { addReconcile } from './commands/indexing/reconcile.ts';
import { addKeysCreate, addKeysList, addKeysRevoke, addKeysRotate } from './commands/keys/keys.ts';
import { addMembersExport } from './commands/members/export.ts';
import { addMembersImport } from './commands/members/import.ts';
import { addMembersShow, addMembersSuppress, addMembersUnsuppress } from './commands/members/members.ts';
import { addList } from './commands/notifications/list.ts';
import { addCancel, addRetry, addShow } from './commands/notifications/notifications.ts';
import { addOutcomesResend } from './commands/outcomes/outcomes.ts';
import { addReplay } from './commands/replay/replay.ts';
import { addPreflight } from './commands/status/preflight.ts';
import { addStatus, addSweeps } from './commands/status/status.ts';
import { addForget } from './commands/verify/forget.ts';
import { addVerify } from './commands/verify/verify.ts';
import type { CliContext } from './session/session.ts';

/**
 * Runs one of the operator commands.
 * @param args without node and script
 * @returns the exit code: 0 done, 1 the command could not be carried out, 2 wrong arguments
 */
export async function runProgram(args: readonly string[], context: Omit<CliContext, 'exitWith'>): Promise<number> {
  return runCommand(args, context.terminal, (exitWith) => createProgram({ ...context, exitWith }));
}

function createProgram(context: CliContext): Command {
  const program = writingTo(context.terminal, new Command('ops'))
    .description('Inspect and control the retries of failed notifications.')
    .usage('<command> [options]')
    .addHelpText(
      'after',
      `
On AWS the commands use the stack notification-retry-dev, or the one that NOTIFICATION_RETRY_STACK names. With --local
they use the running local runtime. Exit codes: 0 done, 1 the command could not be carried out, 2 wrong arguments.

Examples:
  npm run ops -- status
  npm run ops -- list --status dead --channel slack
  npm run ops -- show NL103
  npm run ops -- dlq redrive --channel slack`,
    );
  addConsole(program, context);
  addAudit(program, context);
  addPreflight(program, context);
  addStatus(program, context);
  addSweeps(program, context);
  addList(program, context);
  addShow(program, context);
  addRetry(program, context);
  addCancel(program, context);
  addReplay(program, context);
  addReconcile(program, context);
  addVerify(program, context);
  addForget(program, context);
  const dlq = program.command('dlq').description('the dead-letter queues').usage('<command> [options]');
  addDlqList(dlq, context);
  addDlqShow(dlq, context);
  addDlqRedrive(dlq, context);
  addDlqDrop(dlq, context);
  const spool = program
    .command('spool')
    .description("the producer client's spool on this machine")
    .usage('<command> [options]');
  const localApi = async () => (await context.findDeployment(true)).api;
  addSpoolCommands(spool, { ...context, command: 'npm run ops -- spool', localApi });
  const keys = program.command('keys').description('the API keys of producers').usage('<command> [options]');
  addKeysCreate(keys, context);
  addKeysList(keys, context);
  addKeysRotate(keys, context);
  addKeysRevoke(keys, context);
  const outcomes = program.command('outcomes').description('what producers are told').usage('<command> [options]');
  addOutcomesResend(outcomes, context);
  const members = program.command('members').description('the members of newsletters').usage('<command> [options]');
  addMembersImport(members, context);
  addMembersExport(members, context);
  addMembersShow(members, context);
  addMembersSuppress(members, context);
  addMembersUnsuppress(members, context);
  const newsletters = program
    .command('newsletters')
    .description('the newsletters of a tenant')
    .usage('<command> [options]');
  addNewslettersCreate(newsletters, context);
  addNewslettersList(newsletters, context);
  addNewslettersShow(newsletters, context);
  addSenders(program, context);
  const emails = program.command('emails').description('the mailings of newsletters').usage('<command> [options]');
  addEmailsSend(emails, context);
  addEmailsTest(emails, context);
  addEmailsReplace(emails, context);
  addEmailsList(emails, context);
  addEmailsStatus(emails, context);
  addEmailsDecisions(emails, context);
  addEmailsRecipients(emails, context);
  return program;
}
