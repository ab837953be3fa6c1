import { Command } from 'commander';
import { addSpoolCommands } from '../client/spool/commands/program.ts';
import { addGroup, runCommand, writingTo } from '../terminal/command.ts';
import { addAudit } from './commands/console/audit.ts';
import { addConsole } from './commands/console/console.ts';
import { addDlqDrop, addDlqList, addDlqRedrive, addDlqShow } from './commands/dead-letters/dead-letters.ts';
import { addEmailsReplace, addEmailsSend, addEmailsTest } from './commands/emails/drafts.ts';
import {
  addEmailsList,
  addEmailsRecipients,
  addEmailsResolve,
  addEmailsStatus,
  EMAIL_DECISIONS,
} from './commands/emails/emails.ts';
import {
  addNewslettersCreate,
  addNewslettersList,
  addNewslettersShow,
  addSendersAllow,
  addSendersList,
  addSendersRevoke,
} from './commands/emails/newsletters.ts';
import { addEmailsPreview } from './commands/emails/preview.ts';
import { addReconcile } from './commands/indexing/reconcile.ts';
import { addKeysCreate, addKeysList, addKeysRevoke, addKeysRotate } from './commands/keys/keys.ts';
import { addMembersExport } from './commands/members/export.ts';
import { addMembersImport } from './commands/members/import.ts';
import { addMembersShow, addMembersSuppress, addMembersUnsuppress } from './commands/members/members.ts';
import { addCorrect } from './commands/notifications/correct.ts';
import { addRowsImport } from './commands/notifications/import-rows.ts';
import { addList } from './commands/notifications/list.ts';
import { addCancel, addRetry, addShow } from './commands/notifications/notifications.ts';
import { addOutcomesResend } from './commands/outcomes/outcomes.ts';
import { addReplay } from './commands/replay/replay.ts';
import { addRestore } from './commands/restore/restore.ts';
import { addLeftovers } from './commands/status/leftovers.ts';
import { addPreflight } from './commands/status/preflight.ts';
import { addStatus, addSweeps } from './commands/status/status.ts';
import { addForget } from './commands/verify/forget.ts';
import { addVerify } from './commands/verify/verify.ts';
import type { AddCommand, CliContext } from './session/session.ts';

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
On AWS the commands use the stack notification-retry-dev, or the one that
NOTIFICATION_RETRY_STACK names; with --local the running local runtime.
Exit codes: 0 done, 1 the command could not be carried out, 2 wrong arguments.

Examples:
  npm run ops -- status
  npm run ops -- list --status dead --channel slack
  npm run ops -- show NL103
  npm run ops -- dlq redrive --channel slack`,
    );
  for (const add of COMMANDS) add(program, context);
  return program;
}

const under =
  (name: string, says: string, ...commands: readonly AddCommand[]): AddCommand =>
  (program, context) =>
    addGroup(program, name, says, commands, context);

const addSpool: AddCommand = (spool, context) => {
  const localApi = async () => (await context.findDeployment(true)).api;
  addSpoolCommands(spool, { ...context, command: 'npm run ops -- spool', localApi });
};

/** In the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  ...[addConsole, addAudit, addPreflight, addLeftovers, addStatus, addSweeps, addList, addShow],
  ...[addRetry, addCorrect, addCancel, addReplay, addReconcile, addVerify, addForget, addRestore],
  under('rows', 'rows of another database', addRowsImport),
  under('dlq', 'the dead-letter queues', addDlqList, addDlqShow, addDlqRedrive, addDlqDrop),
  under('spool', "the producer client's spool on this machine", addSpool),
  under('keys', 'the API keys of producers', addKeysCreate, addKeysList, addKeysRotate, addKeysRevoke),
  under('outcomes', 'the outcomes that producers get', addOutcomesResend),
  under(
    'members',
    'the members of newsletters',
    ...[addMembersImport, addMembersExport, addMembersShow, addMembersSuppress, addMembersUnsuppress],
  ),
  under('newsletters', 'the newsletters of a tenant', addNewslettersCreate, addNewslettersList, addNewslettersShow),
  under(
    'senders',
    "the addresses that a tenant's newsletters are sent from",
    ...[addSendersAllow, addSendersRevoke, addSendersList],
  ),
  under(
    'emails',
    'the mailings of newsletters',
    ...[addEmailsSend, addEmailsPreview, addEmailsTest, addEmailsReplace, addEmailsList, addEmailsStatus],
    ...[...EMAIL_DECISIONS, addEmailsResolve, addEmailsRecipients],
  ),
];
