import { createHash } from 'node:crypto';
import { BatchExecuteStatementCommand, BatchGetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { withDirectCalls } from '../../../adapters/direct-calls/direct-calls.ts';
import { forgetRecipient, REMAINS, recipientOf } from '../../../application/scans/forget.ts';
import { VERIFY_RATE } from '../../../application/scans/verify.ts';
import { type ForgetState, newForget } from '../../../core/forget/forget-state.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { onDeployment } from '../../session/session.ts';
import { stateFile } from '../../session/state-file.ts';

/** Those that are made per notification: an address may be the fallback of very many. */
const DIRECT_CALLS = {
  BatchExecuteStatement: BatchExecuteStatementCommand,
  BatchGetItem: BatchGetItemCommand,
  UpdateItem: UpdateItemCommand,
};

export const addForget = onDeployment({
  name: 'forget',
  says: 'erase a recipient: address, name, subjects and bodies; counts stay',
  options: {
    '--tenant <T>': required(value('the tenant whose recipient it is', parseId)),
    '--recipient <->': required('"-": read the address from stdin, so that it is not in the shell history'),
    '--dry-run': 'only count what would be erased',
    '--rate <N>': value('read units per second, on average', parseCount, VERIFY_RATE),
  },
  help: `
A recipient of any channel: an e-mail address in any spelling, a channel, an id, a URL. Rows and sums stay, marked as
erased; what is still to be sent is cancelled; members with the address are deleted. Attempts under way end first. Run
it again to continue an interrupted run. Ids that contain the address stay, and are listed: whoever makes such ids has
to stop.

${REMAINS.join('\n')}

Examples:
  printf %s "$ADDRESS" | npm run ops -- forget --tenant TENANT001 --recipient - --dry-run
  printf %s "$ADDRESS" | npm run ops -- forget --tenant TENANT001 --recipient - --json`,
  async run(session, { tenant, recipient, dryRun: dry_run = false, rate }) {
    if (recipient !== '-') {
      throw new OperatorError('--recipient takes "-" alone: the address is read from stdin.', EXIT_USAGE);
    }
    const address = await session.terminal.readInput();
    if (address === '') throw new OperatorError('The address on stdin is empty.', EXIT_USAGE);
    withDirectCalls(session.dynamodb, DIRECT_CALLS);
    const known = await recipientOf(tenant, address, session);
    const { stage, region } = session;
    // Neither the address nor its hash.
    const id = createHash('sha256')
      .update(JSON.stringify([stage, region, known.hashes]))
      .digest('hex')
      .slice(0, 16);
    const file = stateFile<ForgetState>(session, `forget-${id}`);
    const state = (dry_run ? undefined : file.find()) ?? newForget(session.clock());
    const { signal, exitCode } = session.interruption();
    const progress = showProgress(session);
    try {
      const run = {
        dry_run,
        rate,
        pause: session.pause,
        isStopping: () => signal.aborted,
        onProgress(reached: ForgetState) {
          if (!dry_run) file.keep(reached, session.clock());
          const waiting = reached.later.length > 0 && { summary: `${reached.later.length} to look at again` };
          progress.update({ verb: `${reached.phase} read`, done: reached.scanned, ...waiting });
        },
      };
      await session.decide(forgetRecipient(known, state, run, session));
    } finally {
      progress.end();
      if (!dry_run && state.phase !== 'done') file.write(state);
    }
    if (state.phase !== 'done') return exitCode() ?? EXIT_FAILED;
    file.remove();
    const answer = answerOf(tenant, dry_run, state);
    printResult(session, answer, () => describe(answer));
    return answer.left > 0 ? EXIT_FAILED : 0;
  },
});

function answerOf(tenant_id: string, dry_run: boolean, state: ForgetState) {
  const { notifications, records, fallbacks, contents_without_row, members, named, left } = state;
  return {
    tenant_id,
    dry_run,
    notifications,
    records,
    fallbacks,
    contents_without_row,
    members,
    ids_with_the_address: named,
    left,
    remains: REMAINS,
  };
}

function describe(answer: ReturnType<typeof answerOf>): string {
  const { dry_run, notifications, records, fallbacks, contents_without_row, members, left, remains } = answer;
  const counts = Object.entries(notifications).map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`);
  const ids = answer.ids_with_the_address;
  return [
    `${dry_run ? 'Would be erased' : 'Erased'}: notifications: ${counts.join(', ') || 'none'}; members: ${members}`,
    ...(records > 0 ? [`Records whose answers were removed: ${records}`] : []),
    ...(fallbacks > 0 ? [`Notifications of others that would have gone on to it: ${fallbacks}`] : []),
    ...(contents_without_row > 0 ? [`Content of requests that were cut off: ${contents_without_row}`] : []),
    ...(ids > 0 ? [`${ids} log_ids contain the address: they are keys and stay until they expire.`] : []),
    ...(left > 0 ? [`${left} are still being worked on: run the command again.`] : []),
    ...remains,
    '',
  ].join('\n');
}
