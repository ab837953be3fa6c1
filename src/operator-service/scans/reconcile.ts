import { LambdaClient } from '@aws-sdk/client-lambda';
import { DeploymentNotFoundError } from '../../adapters/deployment/deployment.ts';
import { type ReconcileAnswer, type ReconcilePart, reconcilePart } from '../../adapters/lambda/reconcile-event.ts';
import type { Decide } from '../audit.ts';
import type { OperatorDeps } from '../deps.ts';

/** Seconds that the function scans per call: short enough to show progress. */
const PART_SECONDS = 45;

export type Reconciled = Omit<ReconcileAnswer, 'next'>;

/** Takes in rows of the whole table that the due-indexer missed. @param onPart the sums, and the next part's start */
export async function reconcileStage(
  asked: Omit<ReconcilePart, 'seconds'>,
  { deployment }: Pick<OperatorDeps, 'deployment'>,
  decide: Decide,
  onPart: (total: Reconciled, next: ReconcilePart['after']) => void,
): Promise<Reconciled> {
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
        const part = { dry_run: asked.dry_run, seconds: PART_SECONDS, ...(after && { after }) };
        const { next, ...counts } = await reconcilePart(lambda, reconciler, part);
        for (const [name, count] of Object.entries(counts)) total[name as keyof typeof total] += count;
        after = next;
        onPart(total, after);
      } while (after !== undefined);
    } finally {
      lambda.destroy();
    }
    return total;
  };
  if (asked.dry_run) return scan();
  return decide({ what: 'reconcile', on: [reconciler] }, async () => {
    const answer = await scan();
    const { taken_in, set_aside, failed } = answer;
    return { answer, result: { taken_in, set_aside, failed } };
  });
}
