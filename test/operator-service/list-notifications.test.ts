import { BatchGetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import type { OperatorDeps } from '../../src/operator-service/deps.ts';
import { findNotifications } from '../../src/operator-service/notifications.ts';

it('refuses a notification_id whose index key is full of rows of others, and says what to do', async () => {
  const foreign = { log_id: { S: 'other' }, tenant_id: { S: 'T-OTHER' }, notification_id: { S: 'N1' } };
  const send = async (command: object) =>
    command instanceof BatchGetItemCommand
      ? { Responses: { log: [foreign] } }
      : { Items: [foreign], LastEvaluatedKey: { log_id: foreign.log_id } };
  const deps = {
    dynamodb: { send } as unknown as DynamoDBClient,
    deployment: { tables: { notification_log: 'log' } },
    rows: { read: async () => undefined },
    shards: async () => ({ work: 8, history: 4 }),
    clock: () => new Date(),
  } as unknown as OperatorDeps;
  await expect(findNotifications({ q: 'N1', tenant: 'T1', limit: 50 }, deps)).rejects.toMatchObject({
    problem: 'invalid-request',
    extras: { errors: [expect.objectContaining({ path: 'q', rule: 'crowded' })] },
  });
});
