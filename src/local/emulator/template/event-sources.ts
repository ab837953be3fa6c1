import * as v from 'valibot';
import { type JsonObject, object, read } from '../../support/json.ts';
import { nameInArn } from './references.ts';

interface MappingPlan {
  readonly id: string;
  readonly functionName: string;
  /** ARN of the queue or stream, as the function sees it in its event. */
  readonly sourceArn: string;
  readonly batchSize: number;
  readonly batchWindowSeconds: number;
  /** Whether the function reports which records of a batch failed. */
  readonly reportsBatchItemFailures: boolean;
  /** A record must match one of these patterns; an empty list accepts all records. */
  readonly filters: readonly JsonObject[];
}

export interface QueueMappingPlan extends MappingPlan {
  readonly source: 'queue';
  readonly queueName: string;
  /** Most concurrent invocations; undefined: no limit in the template. */
  readonly maximumConcurrency?: number;
}

export interface StreamMappingPlan extends MappingPlan {
  readonly source: 'stream';
  readonly tableName: string;
  /** Retries of a failed batch; −1: until its records expire. */
  readonly maximumRetryAttempts: number;
  readonly bisectBatchOnFunctionError: boolean;
  /** Queue that gets a message about each batch whose retries are used up. */
  readonly onFailureQueue?: string;
}

const pattern = v.object({ Pattern: v.pipe(v.string(), v.parseJson(), object) });
const mapping = v.object({
  Enabled: v.optional(v.boolean(), true),
  EventSourceArn: v.string(),
  FunctionName: v.string(),
  BatchSize: v.optional(v.number()),
  MaximumBatchingWindowInSeconds: v.optional(v.number(), 0),
  FunctionResponseTypes: v.optional(v.array(v.string()), []),
  FilterCriteria: v.optional(v.object({ Filters: v.array(pattern) }), { Filters: [] }),
  ScalingConfig: v.optional(v.object({ MaximumConcurrency: v.optional(v.number()) }), {}),
  MaximumRetryAttempts: v.optional(v.number(), -1),
  BisectBatchOnFunctionError: v.optional(v.boolean(), false),
  DestinationConfig: v.optional(v.object({ OnFailure: v.optional(v.object({ Destination: v.string() })) }), {}),
});

/** @returns undefined for a disabled mapping */
export function mappingFrom(id: string, properties: JsonObject): QueueMappingPlan | StreamMappingPlan | undefined {
  const given = read(mapping, properties, id);
  if (!given.Enabled) return undefined;
  const { EventSourceArn: sourceArn, BatchSize: batchSize } = given;
  const name = nameInArn(sourceArn);
  const common = {
    id,
    functionName: nameInArn(given.FunctionName),
    sourceArn,
    batchWindowSeconds: given.MaximumBatchingWindowInSeconds,
    reportsBatchItemFailures: given.FunctionResponseTypes.includes('ReportBatchItemFailures'),
    filters: given.FilterCriteria.Filters.map(({ Pattern }) => Pattern),
  };
  if (sourceArn.includes(':sqs:')) {
    const { MaximumConcurrency: maximumConcurrency } = given.ScalingConfig;
    const limited = maximumConcurrency === undefined ? {} : { maximumConcurrency };
    return { ...common, source: 'queue', queueName: name, batchSize: batchSize ?? 10, ...limited };
  }
  if (sourceArn.includes(':dynamodb:')) {
    const failure = given.DestinationConfig.OnFailure?.Destination;
    return {
      ...common,
      source: 'stream',
      tableName: name,
      batchSize: batchSize ?? 100,
      maximumRetryAttempts: given.MaximumRetryAttempts,
      bisectBatchOnFunctionError: given.BisectBatchOnFunctionError,
      ...(failure?.includes(':sqs:') && { onFailureQueue: nameInArn(failure) }),
    };
  }
  throw new Error(`${id}: the local runtime has event sources for SQS and DynamoDB streams, not for ${sourceArn}`);
}
