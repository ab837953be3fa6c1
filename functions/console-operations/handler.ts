import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { Context, SQSEvent } from 'aws-lambda';
import * as v from 'valibot';
import { createOperationStore } from '../../src/adapters/dynamodb/console/operation-store.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createCorrectionStore } from '../../src/adapters/dynamodb/operator/correction-store.ts';
import { createOperationRows } from '../../src/adapters/dynamodb/operator/operator-search.ts';
import { replacedLetters } from '../../src/adapters/sqs/dead-letters.ts';
import { createSweepLanes } from '../../src/adapters/sqs/lanes.ts';
import { CHANNELS, type Channel } from '../../src/core/model/channels.ts';
import { briefly } from '../../src/core/operator/dead-letters/dead-letter.ts';
import { isActive } from '../../src/core/operator/operations/operation.ts';
import { type RunDeps, runOperation } from '../../src/core/operator/operations/run-operation.ts';
import { lettersStay } from '../../src/core/operator/retry-now.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../shared/runtime/clients/sqs.ts';
import { consoleOperationsEnv } from '../shared/runtime/console-env.ts';
import { bindFunction, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

const taken = v.object({
  log_ids: v.array(v.string()),
  channels: v.array(v.picklist(CHANNELS)),
  cut_off: v.string(),
  most: v.number(),
});
const message = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([v.object({ operation_id: v.pipe(v.string(), v.minLength(1)) }), v.object({ letters: taken })]),
);

/** A page with its pause takes a few seconds; what is not done by then goes on in the next invocation. */
const RESERVE_MS = 30_000;
/** Another invocation works on it: look again when its claim may have ended. */
const BUSY_SECONDS = 45;

export interface OperationsDeps extends RunDeps {
  /** Makes the next invocation go on. */
  readonly goOn: (operation_id: string, delay_seconds: number) => Promise<void>;
}

/**
 * Works on bulk operations, one message each, and goes on by a message of its own before its time is over. Deletes the
 * letters of dead notifications that somebody chose in the console, whose function has no right to.
 */
export function createHandler(deps: OperationsDeps, { logger }: Pick<Observability, 'logger'>) {
  return async ({ Records }: SQSEvent, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<void> => {
    for (const { body } of Records) {
      const asked = v.parse(message, body);
      const isStopping = () => context.getRemainingTimeInMillis() < RESERVE_MS;
      if ('letters' in asked) {
        await deps.dropReplaced?.(asked.letters, briefly(deps.clock, isStopping));
        continue;
      }
      const { operation_id } = asked;
      try {
        const result = await runOperation(operation_id, deps, isStopping);
        logger.info('operation', { operation_id, result });
        if (result === 'stopped') await deps.goOn(operation_id, 0);
        if (result === 'busy') await deps.goOn(operation_id, BUSY_SECONDS);
      } catch (error) {
        logger.error('operation failed; an operator can resume it', { operation_id, error: error as Error });
        // Where its failure is not stored, SQS brings the message again: nobody else would go on.
        const found = await deps.operations.read(operation_id);
        if (found !== undefined && isActive(found)) throw error;
      }
    }
  };
}

export const handler = bindFunction(consoleOperationsEnv, (env, observability) => {
  const dynamodb = createDynamoDb();
  const sqs = createSqs();
  const clock = () => new Date();
  const { sealer, hashKey } = createSecretsAndKeys(env, dynamodb);
  const tables = {
    notification_log: env.NOTIFICATION_LOG_TABLE,
    notification_content: env.NOTIFICATION_CONTENT_TABLE,
  };
  const corrections = createCorrectionStore({ client: dynamodb, tables, sealer, hashKey, clock });
  const shards = createShardMark(dynamodb, env.PIPELINE_STATE_TABLE);
  const rows = createOperatorRows(dynamodb, env.NOTIFICATION_LOG_TABLE, clock);
  const onFault = (error: unknown, channel: Channel) => observability.logger.warn(lettersStay(channel), error as Error);
  const deps: OperationsDeps = {
    operations: createOperationStore(dynamodb, env.PIPELINE_STATE_TABLE),
    candidates: createOperationRows(dynamodb, env.NOTIFICATION_LOG_TABLE, clock, shards.read),
    rows,
    dropReplaced: replacedLetters({ sqs, queues: env.DEAD_LETTER_QUEUES, rows, onFault }),
    correct: corrections.correct,
    send: createSweepLanes(sqs, env.LANE_QUEUES).send,
    policy: env.RETRY_POLICY,
    clock,
    newId: randomUUID,
    pause: async (ms) => {
      await setTimeout(ms);
    },
    async goOn(operation_id, DelaySeconds) {
      const MessageBody = JSON.stringify({ operation_id });
      await sqs.send(new SendMessageCommand({ QueueUrl: env.OPERATIONS_QUEUE, MessageBody, DelaySeconds }));
    },
  };
  return createHandler(deps, observability);
});
