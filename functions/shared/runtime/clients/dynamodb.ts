import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { withCallLimit } from '../../../../src/adapters/batching/gather.ts';
import { withDirectCalls } from '../../../../src/adapters/direct-calls/direct-calls.ts';
import { STATE_CALL_MS, TABLE_CALL_MS } from '../../../../src/core/delivery/policy/attempt-times.ts';
import { IGNORED_BY_DYNAMODB, lean, STORAGE_LIMITS } from './lean.ts';

/**
 * The client retries by itself: failing early gains nothing. Each call backs off for itself (`standard`): the adaptive
 * mode would slow all calls of the instance down because of one hot key
 * (docs/decisions/measured/cold-start-and-bundles.md#0127).
 * @param direct the operations whose calls are made without the SDK's middleware
 * (docs/decisions/measured/cold-start-and-bundles.md#0143)
 */
export function createDynamoDb(direct: Readonly<Record<string, unknown>> = BATCHES): DynamoDBClient {
  const client = new DynamoDBClient({ retryMode: 'standard', maxAttempts: 5, requestHandler: STORAGE_LIMITS });
  return withCallLimit(withDirectCalls(lean(client, IGNORED_BY_DYNAMODB), direct), TABLE_CALL_MS, 'DynamoDB');
}

/** Milliseconds for which PipelineState is not called after a call without an answer. */
const REST_MS = 5_000;
const states = new WeakMap<DynamoDBClient, DynamoDBClient>();

/**
 * The client for what only helps a delivery: budgets, breakers, marks of sweeps and shards. Whoever uses it goes on
 * without an answer, so it is waited for briefly, and once for all of them.
 */
export function pipelineState(client: DynamoDBClient): DynamoDBClient {
  const state = states.get(client) ?? withCallLimit(client, STATE_CALL_MS, 'PipelineState', REST_MS);
  states.set(client, state);
  return state;
}

/** What batches are made of. A refusal of a single item is part of the answer, so these calls have no typed errors. */
export const BATCHES = {
  BatchExecuteStatement: BatchExecuteStatementCommand,
  BatchGetItem: BatchGetItemCommand,
  BatchWriteItem: BatchWriteItemCommand,
};
