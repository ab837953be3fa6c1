import { LambdaClient } from '@aws-sdk/client-lambda';
import { InvalidArgumentError } from 'commander';
import { DeploymentNotFoundError } from '../../../adapters/deployment/deployment.ts';
import type { ReconcileAnswer } from '../../../adapters/lambda/reconcile-event.ts';
import { reconcilePart } from '../../../adapters/lambda/reconcile-part.ts';
import { value } from '../../../terminal/command.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { onDeployment, opsCommand, type Session } from '../../session/session.ts';

type Cursor = NonNullable<ReconcileAnswer['next']>;

/** Seconds that the function scans per call: short enough to show progress. */
const PART_SECONDS = 45;

export const addReconcile = onDeployment({
  name: 'reconcile',
  says: 'look for rows that the due-indexer never took in, and take them in',
  options: {
    '--dry-run': 'only count them',
    '--after <CURSOR>': value('go on where an interrupted run stopped', parseCursor),
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
  async run(session, { dryRun = false, after }) {
    const { reconciler } = session.deployment;
    if (reconciler === undefined) {
      throw new DeploymentNotFoundError('The stack has no output ReconcilerFunction: deploy it anew.');
    }
    const scan = () => scanAll(reconciler, dryRun, after, session);
    const decided = async () => {
      const answer = await scan();
      const { taken_in, set_aside, failed } = answer;
      return { answer, result: { taken_in, set_aside, failed } };
    };
    const total = dryRun ? await scan() : await session.decide({ what: 'reconcile', on: [reconciler] }, decided);
    printResult(session, { dry_run: dryRun, ...total }, () => describe(total, dryRun));
    return total.failed > 0 ? EXIT_FAILED : 0;
  },
});

async function scanAll(reconciler: string, dry_run: boolean, after: Cursor | undefined, session: Session) {
  const { deployment } = session;
  const lambda = new LambdaClient({ ...deployment.clients.lambda, maxAttempts: 1 });
  const progress = showProgress(session);
  const total = { scanned: 0, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };
  let next = after;
  try {
    progress.step('Scanning NotificationLog');
    do {
      const part = { dry_run, seconds: PART_SECONDS, ...(next && { after: next }) };
      const { next: reached, ...counts } = await reconcilePart(lambda, reconciler, part);
      for (const [name, count] of Object.entries(counts)) total[name as keyof typeof total] += count;
      next = reached;
      progress.update({ verb: 'scanned', done: total.scanned, summary: `${total.missed} missed` });
    } while (next !== undefined);
  } catch (error) {
    const rest = `reconcile${dry_run ? ' --dry-run' : ''} --after`;
    if (next !== undefined) progress.note(`Go on with: ${opsCommand(`${rest} ${toText(next)}`, session)}`);
    throw error;
  } finally {
    progress.end();
    lambda.destroy();
  }
  return total;
}

function describe({ scanned, missed, taken_in, set_aside, failed }: ReconcileAnswer, dryRun: boolean): string {
  const done = dryRun ? '' : `: ${taken_in} taken in, ${set_aside} set aside, ${failed} failed`;
  return `${scanned} rows scanned, ${missed} missed${done}\n`;
}

function toText(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function parseCursor(text: string): Cursor {
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (typeof cursor === 'object' && cursor !== null && !Array.isArray(cursor)) return { ...cursor };
  } catch {
    // The error below says what would be right.
  }
  throw new InvalidArgumentError('It must be the cursor that an interrupted run printed.');
}
