import { runVerification, VERIFY_RATE, VERIFY_SAMPLE } from '../../../application/scans/verify.ts';
import { equationsOf, type Verified, verified } from '../../../core/verify/findings.ts';
import { newVerification, type Verification } from '../../../core/verify/verification.ts';
import { value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId, parseMoment } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { onDeployment, opsCommand } from '../../session/session.ts';
import { stateFile } from '../../session/state-file.ts';

export const addVerify = onDeployment({
  name: 'verify',
  says: 'prove on the tables that nothing is lost and that all sums add up; reads only',
  options: {
    '--tenant <T>': value('only this tenant', parseId),
    '--from <TIME>': value('created at this time or later: a time, or how long ago (6h, 2d)', parseMoment),
    '--to <TIME>': value('created at this time or earlier', parseMoment),
    '--sample <N>': value('notifications whose records are checked', parseCount, VERIFY_SAMPLE),
    '--rate <N>': value('read units per second, on average', parseCount, VERIFY_RATE),
    '--letters': 'check every dead letter; otherwise only count the queues',
    '--resume <ID>': 'continue an interrupted run, with its own options',
  },
  help: `
Every notification is in exactly one of: delivered, waiting, in flight, dead (with its letter), stopped, cancelled,
expired, handed on to its fallback. What looks wrong is read again after a minute. The exit code is 1 if a rule is
broken; each is named with its log_id and the number of the invariant in docs/architecture.md, N1 to N4 for newsletters.
The whole tables are read; with --letters each dead letter counts one receive.

Examples:
  npm run ops -- verify
  npm run ops -- verify --tenant TENANT001 --from 7d --letters --json`,
  async run(session, { resume, rate, tenant, from, to, sample, letters = false }) {
    const asked = { ...(tenant && { tenant }), ...(from && { from }), ...(to && { to }), sample, letters };
    const id = resume ?? session.newId().slice(0, 8);
    if (!/^[\w-]{1,50}$/.test(id)) throw new OperatorError('--resume takes the id that the run printed.', EXIT_USAGE);
    const file = stateFile<Verification>(session, `verify-${id}`);
    const state = resume === undefined ? newVerification(asked, session.clock()) : file.find();
    if (state === undefined)
      throw new OperatorError(`No run ${id} was interrupted on this machine: start a new one.`, EXIT_USAGE);
    const { signal, exitCode } = session.interruption();
    const progress = showProgress(session);
    progress.note(`If it is interrupted: ${opsCommand(`verify --resume ${id}`, session)}`);
    try {
      await runVerification(state, {
        ...session,
        rate,
        isStopping: () => signal.aborted,
        onProgress(reached) {
          file.keep(reached, session.clock());
          const { phase, scanned, contents, records_checked, emails, suspects } = reached;
          const done = { rows: scanned, contents, records: records_checked, newsletters: emails, letters: 0, done: 0 };
          progress.update({
            verb: `${phase} read`,
            done: done[phase],
            ...(suspects.length > 0 && { summary: `${suspects.length} to look at again` }),
          });
        },
      });
    } catch (error) {
      file.write(state);
      throw error;
    } finally {
      progress.end();
    }
    const ended = exitCode();
    if (state.phase !== 'done') {
      file.write(state);
      return ended ?? EXIT_FAILED;
    }
    file.remove();
    const result = verified(state);
    printResult(session, result, () => describeVerified(result));
    return result.holds ? 0 : EXIT_FAILED;
  },
});

export function describeVerified(result: Verified): string {
  const { letters, records_checked, contents_without_row, violated, violations, erased, set_aside_in_clear } = result;
  const of = Object.entries(letters).map(
    ([channel, { dead, letters: held, on_the_way }]) =>
      `${channel} ${held} for ${dead} dead${on_the_way > 0 ? `, ${on_the_way} in the lanes` : ''}`,
  );
  const lines = [
    ...equationsOf(result),
    `letters, of what has been dead for a minute: ${of.join('; ')}`,
    `records: checked of ${records_checked} notifications`,
    ...(contents_without_row > 0 ? [`content without a notification: ${contents_without_row}`] : []),
    ...result.accepted_without_row.map(
      ({ log_id, tenant_id, accepted_at }) =>
        `  ${log_id} of ${tenant_id}, at ${accepted_at}: its request was cut off, or its row is lost`,
    ),
    ...(erased > 0 ? [`erased by ops forget: ${erased}`] : []),
    ...(set_aside_in_clear > 0
      ? [
          `malformed, with content in the clear: ${set_aside_in_clear}; their writers must correct what error_message names`,
        ]
      : []),
    violated === 0 ? COLORS.green('No rule is broken.') : COLORS.red(`${violated} violations`),
    '',
  ];
  if (violated === 0) return lines.join('\n');
  const named = table(violations, [
    'rule',
    ['of', ({ log_id, email_id, channel }) => log_id ?? email_id ?? channel],
    ['what', 'says'],
  ]);
  return `${lines.join('\n')}${named}`;
}
