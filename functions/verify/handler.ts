import { setTimeout } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import * as v from 'valibot';
import { tablesOf } from '../../src/adapters/deployment/stage-parts.ts';
import { createVerificationStore } from '../../src/adapters/dynamodb/console/operation-store.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { verificationOf } from '../../src/application/scans/verify.ts';
import { Problem } from '../../src/core/model/problem.ts';
import { startVerification } from '../../src/core/verify/kept-verification.ts';
import { type KeptRun, type KeptRunDeps, runKept } from '../../src/core/verify/run-kept.ts';
import type { Verification } from '../../src/core/verify/verification.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../shared/runtime/clients/sqs.ts';
import { verifyEnv } from '../shared/runtime/console-env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';

export interface VerifyFunctionDeps extends Omit<KeptRunDeps, 'claim_id' | 'isEnding' | 'isOver'> {
  /** Invokes this function again, without waiting for the result. */
  readonly goOn: () => Promise<void>;
}

/** Milliseconds for a page of emails, and to look again at what is suspected, which waits a minute. */
const RESERVE_MS = 240_000;
const LAST_WRITES_MS = 10_000;

const scheduled = v.object({ source: v.literal('aws.events') });

/** Works on the stage's verification, which the schedule or an operator begins, and invokes itself until its end. */
export function createHandler(deps: VerifyFunctionDeps, { logger, metrics }: Observability) {
  return async (
    event: unknown,
    context: Pick<Context, 'getRemainingTimeInMillis' | 'awsRequestId'>,
  ): Promise<KeptRun['result']> => {
    // What an operator's console ended, or an invocation that crashed.
    await tell();
    if (v.is(scheduled, event)) await begin();
    const run = await runKept({
      ...deps,
      // Lambda repeats an invocation that crashed with the same id.
      claim_id: context.awsRequestId,
      isEnding: () => context.getRemainingTimeInMillis() < RESERVE_MS,
      isOver: () => context.getRemainingTimeInMillis() < LAST_WRITES_MS,
    });
    if (run.result === 'interrupted') await deps.goOn();
    else await tell();
    return run.result;
  };

  /** Counts what has ended, whoever ended it: the mark follows the counts, so that alarms rather hear of it twice. */
  async function tell(): Promise<void> {
    const found = await deps.store.read();
    if (found?.status !== 'done' || found.told) return;
    const { violated, scanned, violations }: Verification = JSON.parse(found.state);
    count(metrics, 'Verifications');
    count(metrics, 'VerificationViolations', violated);
    const rules = [...new Set(violations.map(({ rule }) => rule))];
    const said = violated > 0 ? brokenRules(violated, violations) : 'No rule is broken';
    logger[violated > 0 ? 'error' : 'info'](said, { scanned, violated, rules });
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    await deps.store.change(found, { set: { told: true } });
  }

  /** Where one is running already, its end counts for this one, too. */
  async function begin(): Promise<void> {
    const start = { store: deps.store, clock: deps.clock, startRun: async () => {} };
    await startVerification('schedule', start).catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
    });
  }
}

function brokenRules(violated: number, [first]: Verification['violations']): string {
  const whose = first?.log_id ?? first?.email_id ?? first?.channel;
  const example =
    first === undefined ? '' : `, such as rule ${first.rule}${whose ? ` by ${whose}` : ''}: ${first.says}`;
  return (
    `Broken rules: ${violated}${example}. Something may be lost. ` +
    'Look at Operations in the console, or run `npm run ops -- verify --letters`: each is named. ' +
    'docs/reference/verify-and-forget.md says what to do about each rule'
  );
}

export const handler = bindFunction(verifyEnv, (env, observability) => {
  const dynamodb = createDynamoDb();
  const tables = tablesOf({
    notification_log: env.NOTIFICATION_LOG_TABLE,
    notification_content: env.NOTIFICATION_CONTENT_TABLE,
    notification_retry_log: env.NOTIFICATION_RETRY_LOG_TABLE,
    emails: env.EMAILS_TABLE,
    email_batches: env.EMAIL_BATCHES_TABLE,
    email_recipients: env.EMAIL_RECIPIENTS_TABLE,
  });
  const deployment = { tables, lane_queues: env.LANE_QUEUES, dead_letter_queues: env.DEAD_LETTER_QUEUES };
  const shards = createShardMark(dynamodb, env.PIPELINE_STATE_TABLE).read;
  const deps: VerifyFunctionDeps = {
    store: createVerificationStore(dynamodb, env.PIPELINE_STATE_TABLE),
    ports: verificationOf({ deployment, dynamodb, sqs: createSqs(), shards }),
    clock: () => new Date(),
    pause: (ms) => setTimeout(ms),
    goOn: async () => (await import('../shared/runtime/clients/lambda.ts')).invokeAgain({ continued: true }),
  };
  return createHandler(deps, observability);
});
