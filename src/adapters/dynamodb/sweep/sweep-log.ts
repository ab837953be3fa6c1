import { type DynamoDBClient, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { epochMs } from '../../../core/model/time.ts';
import type { SweepLog, SweepRecord } from '../../../core/sweep/sweep-run.ts';
import { toValue } from '../table/item.ts';

const KIND = 'sweep';
/** The last express run and the last look ahead: one item each, as nobody asks for those before it. */
const EXPRESS = 'express';
const AHEAD = 'ahead';
/** Days until the record of a sweep expires. */
const KEPT_DAYS = 30;

/** Sweeps among which the last completed one is looked for; operators' runs are recorded, too. */
const LOOKED_BACK = 20;

/** SweepLog on PipelineState. The key begins with the time, so that one query finds the last sweeps. */
export function createSweepLog(client: DynamoDBClient, table: string): SweepLog {
  const note = async (kind: string, started_at: string) => {
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: { kind: { S: kind }, id: { S: 'last' } },
        UpdateExpression: 'SET started_at = :started_at',
        ExpressionAttributeValues: { ':started_at': toValue(started_at) },
      }),
    );
  };
  const noted = async (kind: string) => {
    const { Items: [last] = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'kind = :kind',
        ExpressionAttributeValues: { ':kind': { S: kind } },
        ConsistentRead: true,
        Limit: 1,
      }),
    );
    return last?.['started_at']?.S;
  };
  return {
    async record({ run_id, started_at, duration_ms, due, dispatched, skipped, complete, everything = false }) {
      await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { kind: { S: KIND }, id: { S: `${started_at}#${run_id}` } },
          UpdateExpression:
            'SET run_id = :run_id, started_at = :started_at, complete = :complete, everything = :everything, expires_at = :expires_at ' +
            'ADD duration_ms :duration_ms, due :due, dispatched :dispatched, skipped :skipped',
          ExpressionAttributeValues: {
            ':run_id': toValue(run_id),
            ':started_at': toValue(started_at),
            ':complete': toValue(complete),
            ':everything': toValue(everything),
            ':expires_at': toValue(Math.ceil(epochMs(started_at) / 1000) + KEPT_DAYS * 86_400),
            ':duration_ms': toValue(duration_ms),
            ':due': toValue(due),
            ':dispatched': toValue(dispatched),
            ':skipped': toValue(skipped),
          },
        }),
      );
    },

    async lastCompleted() {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'kind = :kind',
          ProjectionExpression: 'started_at, complete, everything',
          ExpressionAttributeValues: { ':kind': { S: KIND } },
          ScanIndexForward: false,
          ConsistentRead: true,
          Limit: LOOKED_BACK,
        }),
      );
      return Items.find(({ complete, everything }) => complete?.BOOL && everything?.BOOL)?.['started_at']?.S;
    },

    recordExpress: (started_at) => note(EXPRESS, started_at),
    recordAhead: (started_at) => note(AHEAD, started_at),
    lastExpress: () => noted(EXPRESS),
    lastAhead: () => noted(AHEAD),
  };
}

/** The last sweeps of the dispatcher, newest first. */
export async function lastSweeps(client: DynamoDBClient, table: string, limit: number): Promise<SweepRecord[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'kind = :kind',
      ExpressionAttributeValues: { ':kind': { S: KIND } },
      ScanIndexForward: false,
      Limit: limit,
    }),
  );
  return Items.map((item) => {
    const { run_id, started_at, duration_ms, due, dispatched, skipped, complete } = unmarshall(item) as SweepRecord;
    return { run_id, started_at, duration_ms, due, dispatched, skipped, complete };
  });
}
