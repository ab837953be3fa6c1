import { Command, CommanderError } from 'commander';
import { addCancel } from './cancel-command.ts';
import { addDlqDrop } from './dlq-drop-command.ts';
import { addDlqList } from './dlq-list-command.ts';
import { addDlqRedrive } from './dlq-redrive-command.ts';
import { addDlqShow } from './dlq-show-command.ts';
import { describeError, MISUSED } from './errors.ts';
import { addKeysCreate } from './keys-create-command.ts';
import { addKeysList } from './keys-list-command.ts';
import { addKeysRevoke } from './keys-revoke-command.ts';
import { addKeysRotate } from './keys-rotate-command.ts';
import { addList } from './list-command.ts';
import { addReplay } from './replay-command.ts';
import { addRetry } from './retry-command.ts';
import type { CliContext } from './session.ts';
import { addShow } from './show-command.ts';
import { addSpoolClean } from './spool-clean-command.ts';
import { addSpoolFlush } from './spool-flush-command.ts';
import { addSpoolList } from './spool-list-command.ts';
import { addSpoolResend } from './spool-resend-command.ts';
import { addSpoolShow } from './spool-show-command.ts';
import { addStatus } from './status-command.ts';
import { addSweeps } from './sweeps-command.ts';

/**
 * Runs one of the operator commands.
 * @param args without node and script
 * @returns 0 done, 1 it could not be done, 2 the command was given what it does not take
 */
export async function runProgram(args: readonly string[], context: Omit<CliContext, 'exitWith'>): Promise<number> {
  const { terminal } = context;
  let code = 0;
  const exitWith = (given: number) => {
    code = given;
  };
  try {
    await createProgram({ ...context, exitWith }).parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Commander has said what is wrong by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    const { sentence, code: failed } = describeError(error);
    terminal.say(`${terminal.colors.red('✗')} ${sentence}\n`);
    return failed;
  }
}

function createProgram(context: CliContext): Command {
  const { terminal } = context;
  const program = new Command('ops')
    .description('See and steer the retries of failed notifications.')
    .usage('<command> [options]')
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .showHelpAfterError('Add --help to see what it takes.')
    .addHelpText(
      'after',
      `
On AWS the stack is notification-retry-dev, or the one that NOTIFICATION_RETRY_STACK names; --local takes the running
local runtime. Exit codes: 0 done, 1 it could not be done, 2 wrong arguments.

Examples:
  npm run ops -- status
  npm run ops -- list --status dead --channel slack
  npm run ops -- show NL103
  npm run ops -- dlq redrive --channel slack`,
    );
  addStatus(program, context);
  addSweeps(program, context);
  addList(program, context);
  addShow(program, context);
  addRetry(program, context);
  addCancel(program, context);
  addReplay(program, context);
  const dlq = program.command('dlq').description('the dead-letter queues').usage('<command> [options]');
  addDlqList(dlq, context);
  addDlqShow(dlq, context);
  addDlqRedrive(dlq, context);
  addDlqDrop(dlq, context);
  const spool = program
    .command('spool')
    .description("the producer client's spool on this machine")
    .usage('<command> [options]');
  addSpoolFlush(spool, context);
  addSpoolList(spool, context);
  addSpoolShow(spool, context);
  addSpoolResend(spool, context);
  addSpoolClean(spool, context);
  const keys = program.command('keys').description('the API keys of producers').usage('<command> [options]');
  addKeysCreate(keys, context);
  addKeysList(keys, context);
  addKeysRotate(keys, context);
  addKeysRevoke(keys, context);
  return program;
}
