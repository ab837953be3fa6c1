import { createHash } from 'node:crypto';
import { stageSwitch } from '../../../adapters/deployment/stage-switch.ts';
import { RESTORE_RATE, type RestoreRequest, restoreTables } from '../../../application/scans/restore.ts';
import { runVerification, VERIFY_SAMPLE } from '../../../application/scans/verify.ts';
import { defined } from '../../../core/model/collections.ts';
import { decisionOf } from '../../../core/operator/audit.ts';
import { newRestore, type RestoreState } from '../../../core/restore/restore-state.ts';
import { QUESTIONS } from '../../../core/restore/restored-states.ts';
import { verified } from '../../../core/verify/findings.ts';
import { newVerification } from '../../../core/verify/verification.ts';
import { type Chosen, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseMoment } from '../../../terminal/option-values.ts';
import { confirm, printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { onDeployment, type Session } from '../../session/session.ts';
import { stateFile } from '../../session/state-file.ts';
import { describeVerified } from '../verify/verify.ts';

const OPTIONS = {
  '--log <TABLE>': value('the restored NotificationLog', String),
  '--content <TABLE>': value('the restored NotificationContent', String),
  '--records <TABLE>': value('the restored NotificationRetryLog', String),
  '--restored-to <TIME>': value('the time that the tables were restored to', parseMoment),
  '--dry-run': 'show what would happen to each row; write nothing',
  '--rate <N>': value('units read and written per second, on average', parseCount, RESTORE_RATE),
  '--yes': 'skip the confirmation',
  '--stop': 'stop the schedules and event sources of the stage, and remember which were on',
  '--start': 'start again what --stop has stopped',
} as const;
type RestoreOptions = Chosen<typeof OPTIONS>;

export const addRestore = onDeployment({
  name: 'restore',
  says: 'refill lost tables from restored ones; nothing is sent twice, lost or revived',
  options: OPTIONS,
  help: `
What the deployed tables hold is newer, and stays. What becomes of a row that they lack is decided by what survived:
records, successors, content, the audit log. What cannot be known is stored where nothing sends it, and listed for you
to decide. Pass only the tables that were lost: without --records, a row without a record counts as not attempted since.
Run it again to continue an interrupted run. It ends with a verification; exit code 1: that found something, or
something is left to decide. docs/restoring-a-table.md describes all steps.

Examples:
  npm run ops -- restore --stop
  npm run ops -- restore --log restored-log --restored-to 2026-11-28T03:00:00Z
  npm run ops -- restore --start`,
  async run(session, options) {
    const { stop, start, log, content, records, restoredTo: restored_to } = options;
    const copies = defined({ notification_log: log, notification_content: content, notification_retry_log: records });
    const given = Object.values(copies);
    const modes = [stop, start, given.length > 0].filter(Boolean).length;
    if (modes !== 1)
      throw new OperatorError('Pass --stop, --start, or the restored tables: --log, --content, --records.', EXIT_USAGE);
    if (stop || start) return switchStage(stop ? 'stop' : 'start', session);
    if (restored_to === undefined)
      throw new OperatorError('Pass --restored-to: the time that the tables were restored to.', EXIT_USAGE);
    if (given.some((name) => Object.values(session.deployment.tables).includes(name)))
      throw new OperatorError('This table is deployed, not a restored one: restore under another name.', EXIT_USAGE);
    return restoreAndVerify({ copies, restored_to }, options, session);
  },
});

async function switchStage(to: 'stop' | 'start', session: Session): Promise<number> {
  const stage = await stageSwitch(session);
  const what = `restore.${to}`;
  const switched = await session.decide(
    decisionOf({ what, on: [session.stage] }, async () => {
      const answer = await stage[to]();
      return { answer, result: { rules: answer.rules.length, event_sources: answer.event_sources.length } };
    }),
  );
  const counts = `${switched.rules.length} schedules and ${switched.event_sources.length} event sources`;
  const gone = switched.gone.length > 0 ? ` Not there any more: ${switched.gone.join(', ')}.` : '';
  printResult(session, switched, () => `${to}: ${counts}.${gone} What runs ends within two minutes.\n`);
  return 0;
}

async function restoreAndVerify(request: RestoreRequest, options: RestoreOptions, session: Session): Promise<number> {
  const { dryRun: dry_run = false, yes, rate } = options;
  // Of the same tables and time: a run that was interrupted goes on.
  const asked = JSON.stringify([session.stage, session.region, request]);
  const id = createHash('sha256').update(asked).digest('hex').slice(0, 16);
  const file = stateFile<RestoreState>(session, `restore-${id}`);
  const { signal, exitCode } = session.interruption();
  const progress = showProgress(session);
  const run = async (state: RestoreState, dry: boolean) => {
    const onProgress = (reached: RestoreState) => {
      if (!dry) file.keep(reached, session.clock());
      progress.update({ verb: `${reached.phase.replace('_', ' ')} read`, done: reached.scanned });
    };
    const given = { dry_run: dry, rate, isStopping: () => signal.aborted, pause: session.pause, onProgress };
    try {
      return await session.decide(restoreTables(request, state, given, session));
    } finally {
      progress.end();
      if (!dry && state.phase !== 'done') file.write(state);
    }
  };
  const unfinished = dry_run ? undefined : file.find();
  if (unfinished === undefined && (dry_run || !yes)) {
    const preview = await run(newRestore(), true);
    if (preview.phase !== 'done') return exitCode() ?? EXIT_FAILED;
    if (dry_run) printResult(session, { ...request, ...answerOf(preview) }, () => describe(preview, true));
    else session.terminal.say(describe(preview, true));
    if (dry_run || !(await confirm('Restore?', yes, session))) return 0;
  }
  const state = await run(unfinished ?? newRestore(), false);
  if (state.phase !== 'done') return exitCode() ?? EXIT_FAILED;
  const check = newVerification({ sample: VERIFY_SAMPLE, letters: false }, session.clock());
  const onProgress = () => progress.update({ verb: `${check.phase} verified`, done: check.scanned });
  await runVerification(check, { ...session, rate, isStopping: () => signal.aborted, onProgress });
  progress.end();
  if (check.phase !== 'done') return exitCode() ?? EXIT_FAILED;
  file.remove();
  const proof = verified(check);
  printResult(
    session,
    { ...request, ...answerOf(state), verified: proof },
    () => describe(state, false) + describeVerified(proof),
  );
  return proof.holds && state.asked_in_all === 0 ? 0 : EXIT_FAILED;
}

const answerOf = ({ phase: _, cursors: __, scanned: ___, read_units: ____, ...answer }: RestoreState) => answer;

function describe({ records, contents, rows, records_lost, ...state }: RestoreState, dry_run: boolean): string {
  const { asked, asked_in_all } = state;
  const line = ([name, count]: [string, number]) => `  ${String(count).padStart(9)}  ${name.replaceAll('_', ' ')}`;
  const lines = [
    COLORS.bold(dry_run ? 'It would restore:' : 'Restored:'),
    line(['records', records.copied]),
    line(['contents', contents.copied]),
    ...Object.entries(rows).flatMap((one) => (one[1] > 0 ? [line(one)] : [])),
    ...(records_lost ? ['Records are lost: what was due since may have been sent.'] : []),
    ...(asked_in_all > 0 ? [`A person decides on ${asked_in_all}; what is kept is not sent until then:`] : []),
    '',
  ].join('\n');
  const named = table(asked, [
    ['of', ({ log_id, tenant_id }) => log_id ?? tenant_id],
    ['kept', ({ is_kept }) => (is_kept ? 'yes' : 'no')],
    ['why', ({ why }) => QUESTIONS[why]],
    ['facts', ({ tenant_id, facts }) => JSON.stringify({ tenant_id, ...facts }), 'wide'],
  ]);
  return `${lines}${named}`;
}
