import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { DeploymentNotFoundError } from '../../../adapters/deployment/deployment.ts';
import { parseReconcileAnswer, type ReconcileAnswer, type ReconcilePart } from '../../../adapters/lambda/events.ts';
import { fromCursor, placeOf, toCursor } from '../../../application/cursor.ts';
import type { OperatorDeps } from '../../../application/deps.ts';
import { type Decision, decisionOf } from '../../../core/operator/audit.ts';
import { value } from '../../../terminal/command.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { onDeployment, opsCommand } from '../../session/session.ts';

export const addReconcile = onDeployment({
  name: 'reconcile',
  says: 'find rows that the due-indexer missed, and take them in',
  options: {
    '--dry-run': 'only count them',
    '--after <CURSOR>': value('continue an interrupted run', parseAfter),
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
      const onPart = ({ scanned, missed }: Reconciled, reached: ReconcilePart['after']) => {
        next = reached;
        progress.update({ verb: 'scanned', done: scanned, summary: `${missed} missed` });
      };
      const total = await session.decide(reconcileStage(asked, session, onPart));
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

/** Seconds that the function scans per call: short enough to show progress. */
const PART_SECONDS = 45;

export type Reconciled = Omit<ReconcileAnswer, 'next'>;

/** Takes in rows of the whole table that the due-indexer missed. @param onPart the sums, and the next part's start */
function reconcileStage(
  asked: Omit<ReconcilePart, 'seconds'>,
  { deployment }: Pick<OperatorDeps, 'deployment'>,
  onPart: (total: Reconciled, next: ReconcilePart['after']) => void,
): Decision<Reconciled> {
  const { reconciler } = deployment;
  if (reconciler === undefined) {
    throw new DeploymentNotFoundError('The stack has no output ReconcilerFunction: deploy it anew.');
  }
  const scan = async () => {
    const lambda = new LambdaClient({ ...deployment.clients.lambda, maxAttempts: 1 });
    const total = { scanned: 0, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };
    try {
      let { after } = asked;
      do {
        const part: ReconcilePart = { dry_run: asked.dry_run, seconds: PART_SECONDS, ...(after && { after }) };
        const invoke = new InvokeCommand({ FunctionName: reconciler, Payload: JSON.stringify(part) });
        const { next, ...counts } = parseReconcileAnswer(await lambda.send(invoke));
        for (const [name, count] of Object.entries(counts)) total[name as keyof typeof total] += count;
        after = next;
        onPart(total, after);
      } while (after !== undefined);
    } finally {
      lambda.destroy();
    }
    return total;
  };
  return decisionOf(asked.dry_run ? undefined : { what: 'reconcile', on: [reconciler] }, async () => {
    const answer = await scan();
    const { taken_in, set_aside, failed } = answer;
    return { answer, result: { taken_in, set_aside, failed } };
  });
}
