import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { fromCursor, placeOf, toCursor } from '../../../operator-service/cursor.ts';
import { type Reconciled, reconcileStage } from '../../../operator-service/scans/reconcile.ts';
import { value } from '../../../terminal/command.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { onDeployment, opsCommand } from '../../session/session.ts';

export const addReconcile = onDeployment({
  name: 'reconcile',
  says: 'look for rows that the due-indexer never took in, and take them in',
  options: {
    '--dry-run': 'only count them',
    '--after <CURSOR>': value('go on where an interrupted run stopped', parseAfter),
  },
  help: `
The command reads the whole table NotificationLog, as slowly as reconcileReadUnits of the stage allows. The reconciler
does the same by its schedule, daily by default.

scanned    rows of the table
missed     rows that should have been taken in
taken in   of these: indexed now
set aside  of these: malformed, FAILED with FORMAT_ERROR
failed     of these: storage failed, see the log of the reconciler

Examples:
  npm run ops -- reconcile --dry-run
  npm run ops -- reconcile --json`,
  async run(session, { dryRun: dry_run = false, after }) {
    const progress = showProgress(session);
    let next = after;
    try {
      progress.step('Scanning NotificationLog');
      const asked = { dry_run, ...(after && { after }) };
      const total = await reconcileStage(asked, session, session.decide, ({ scanned, missed }, reached) => {
        next = reached;
        progress.update({ verb: 'scanned', done: scanned, summary: `${missed} missed` });
      });
      progress.end();
      printResult(session, { dry_run, ...total }, () => describe(total, dry_run));
      return total.failed > 0 ? EXIT_FAILED : 0;
    } catch (error) {
      const rest = `reconcile${dry_run ? ' --dry-run' : ''} --after ${toCursor(next)}`;
      if (next !== undefined) progress.note(`Go on with: ${opsCommand(rest, session)}`);
      throw error;
    } finally {
      progress.end();
    }
  },
});

function describe({ scanned, missed, taken_in, set_aside, failed }: Reconciled, dryRun: boolean): string {
  const done = dryRun ? '' : `: ${taken_in} taken in, ${set_aside} set aside, ${failed} failed`;
  return `${scanned} rows scanned, ${missed} missed${done}\n`;
}

const place = placeOf(v.record(v.string(), v.unknown()));

function parseAfter(text: string): v.InferOutput<typeof place> {
  try {
    return fromCursor(place, text) ?? {};
  } catch {
    throw new InvalidArgumentError('It must be the cursor that an interrupted run printed.');
  }
}
