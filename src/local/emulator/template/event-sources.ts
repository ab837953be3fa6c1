import { isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../../support/json.ts';
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

/** @returns undefined for a disabled mapping */
export function mappingFrom(id: string, properties: JsonObject): QueueMappingPlan | StreamMappingPlan | undefined {
  if (properties['Enabled'] === false) return undefined;
  const sourceArn = textAt(properties['EventSourceArn'], `${id}.EventSourceArn`);
  const common = {
    id,
    functionName: nameInArn(textAt(properties['FunctionName'], `${id}.FunctionName`)),
    sourceArn,
    batchWindowSeconds: numberAt(
      properties['MaximumBatchingWindowInSeconds'],
      `${id}.MaximumBatchingWindowInSeconds`,
      0,
    ),
    reportsBatchItemFailures: listAt(properties['FunctionResponseTypes'], `${id}.FunctionResponseTypes`).includes(
      'ReportBatchItemFailures',
    ),
    filters: filters(id, properties['FilterCriteria']),
  };
  const batchSize = (fallback: number) => numberAt(properties['BatchSize'], `${id}.BatchSize`, fallback);
  if (sourceArn.includes(':sqs:')) {
    const scaling = isObject(properties['ScalingConfig'])
      ? properties['ScalingConfig']['MaximumConcurrency']
      : undefined;
    return {
      ...common,
      source: 'queue',
      queueName: nameInArn(sourceArn),
      batchSize: batchSize(10),
      ...(scaling === undefined ? {} : { maximumConcurrency: numberAt(scaling, `${id}.MaximumConcurrency`) }),
    };
  }
  if (sourceArn.includes(':dynamodb:')) {
    const failure = onFailure(properties['DestinationConfig']);
    return {
      ...common,
      source: 'stream',
      tableName: nameInArn(sourceArn),
      batchSize: batchSize(100),
      maximumRetryAttempts: numberAt(properties['MaximumRetryAttempts'], `${id}.MaximumRetryAttempts`, -1),
      bisectBatchOnFunctionError: properties['BisectBatchOnFunctionError'] === true,
      ...(failure === undefined ? {} : { onFailureQueue: failure }),
    };
  }
  throw new Error(`${id}: the local runtime has event sources for SQS and DynamoDB streams, not for ${sourceArn}`);
}

function filters(id: string, criteria: Json | undefined): JsonObject[] {
  if (!isObject(criteria)) return [];
  return listAt(criteria['Filters'], `${id}.FilterCriteria.Filters`).map((filter) => {
    const pattern = textAt(objectAt(filter, `${id}.FilterCriteria`)['Pattern'], `${id}.FilterCriteria.Pattern`);
    return objectAt(JSON.parse(pattern), `${id}.FilterCriteria.Pattern`);
  });
}

function onFailure(destination: Json | undefined): string | undefined {
  const target = isObject(destination) ? destination['OnFailure'] : undefined;
  const arn = isObject(target) ? target['Destination'] : undefined;
  return typeof arn === 'string' && arn.includes(':sqs:') ? nameInArn(arn) : undefined;
}
