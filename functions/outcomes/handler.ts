import { setTimeout } from 'node:timers/promises';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { onFirstUse } from '../../src/adapters/batching/gather.ts';
import { streamImage, toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import { createOutcomeBus, outcomeHash } from '../../src/adapters/eventbridge/outcome-bus.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { notificationOutcomes } from '../../src/core/outcomes/notification-outcomes.ts';
import type { Hash, Outcome } from '../../src/core/outcomes/outcome.ts';
import {
  addressChanges,
  emailOutcomes,
  type ItemChange,
  memberOutcomes,
  providerOutcomes,
} from '../../src/core/outcomes/state-outcomes.ts';
import { type TellDeps, type ToTell, tellOutcomes } from '../../src/core/outcomes/tell-outcomes.ts';
import { lean, STORAGE_LIMITS } from '../shared/runtime/clients/lean.ts';
import { outcomesEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';

export interface OutcomesDeps extends TellDeps {
  readonly clock: Clock;
  readonly hash: Hash;
  /** The members who have the address whose facts have this key. */
  readonly membersOf: (tenant_id: string, item: string) => Promise<readonly string[]>;
}

/**
 * Tells what the streams show, in their order. From the first change on that could not be told, the stream is read again:
 * nothing is lost when the bus refuses, or when this function crashes, and what was told already is told again.
 */
export function createHandler(deps: OutcomesDeps, { logger, metrics }: Observability) {
  return async ({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> => {
    const changes: (ToTell & { readonly changed_at: number })[] = [];
    let unread: { readonly failed: string; readonly error: unknown } | undefined;
    for (const record of Records) {
      const sequence = record.dynamodb?.SequenceNumber ?? '0';
      try {
        const outcomes = await outcomesOf(record, deps);
        const subject = JSON.stringify(record.dynamodb?.Keys ?? sequence);
        const changed_at = record.dynamodb?.ApproximateCreationDateTime ?? 0;
        changes.push({ sequence, subject, outcomes, changed_at });
      } catch (error) {
        unread = { failed: sequence, error };
        break;
      }
    }
    const told = await tellOutcomes(changes, deps);
    if (told.told > 0) {
      const [oldest] = changes.filter(({ outcomes }) => outcomes.length > 0);
      count(metrics, 'OutcomesTold', told.told);
      count(metrics, 'OutcomesLag', Math.max(0, deps.clock().getTime() / 1000 - (oldest?.changed_at ?? 0)));
    }
    const { failed, error } = told.failed === undefined && unread !== undefined ? unread : told;
    logger.info('outcomes', { records: Records.length, told: told.told, ...(failed !== undefined && { failed }) });
    if (failed === undefined) return { batchItemFailures: [] };
    logger.error('the bus refused outcomes; the stream is read again from here', {
      sequence: failed,
      error: error as Error,
    });
    return { batchItemFailures: [{ itemIdentifier: failed }] };
  };
}

/** Each table has keys of its own. */
async function outcomesOf({ dynamodb }: DynamoDBRecord, deps: OutcomesDeps): Promise<readonly Outcome[]> {
  const { Keys = {}, ApproximateCreationDateTime: seconds = 0 } = dynamodb ?? {};
  const context = { hash: deps.hash, seen_at: new Date(seconds * 1000).toISOString() };
  const change: ItemChange = { before: imageOf(dynamodb?.OldImage), after: imageOf(dynamodb?.NewImage) };
  if (Keys['log_id'] !== undefined) return change.after ? notificationOutcomes(change.after, context) : [];
  if (Keys['kind'] !== undefined) return providerOutcomes(change, context);
  if (Keys['email_id'] !== undefined) return emailOutcomes(change, context);
  const tenant_id = change.after?.['tenant_id'];
  const item = Keys['item']?.S;
  const changed = addressChanges(change, context);
  if (typeof tenant_id !== 'string' || item === undefined || changed.length === 0) return [];
  const member_ids = await deps.membersOf(tenant_id, item);
  return changed.flatMap((one) => memberOutcomes(one, { tenant_id, member_ids }, context));
}

function imageOf(image: Readonly<Record<string, unknown>> | undefined): ForeignRow | undefined {
  return image && toForeignRow(streamImage(image));
}

export const handler = bindFunction(outcomesEnv, (env, observability) => {
  // What is refused is tried again by the core, in order, and then by the stream.
  const client = lean(new EventBridgeClient({ maxAttempts: 1, requestHandler: STORAGE_LIMITS }));
  const members = onFirstUse(async () => {
    const [{ createDynamoDb }, { readAddress }, { hashIn }] = await Promise.all([
      import('../shared/runtime/clients/dynamodb.ts'),
      import('../../src/adapters/dynamodb/newsletter/address-pages.ts'),
      import('../../src/adapters/dynamodb/newsletter/member-items.ts'),
    ]);
    const dynamodb = createDynamoDb();
    return (table: string, tenant_id: string, item: string) => readAddress(dynamodb, table, tenant_id, hashIn(item));
  });
  const deps: OutcomesDeps = {
    bus: createOutcomeBus(client, env.OUTCOMES_BUS),
    pause: (ms) => setTimeout(ms),
    clock: () => new Date(),
    hash: outcomeHash,
    membersOf: async (tenant_id, item) => {
      if (env.MEMBERS_TABLE === undefined) return [];
      const found = await (await members())(env.MEMBERS_TABLE, tenant_id, item);
      return (found?.members ?? []).map(({ member_id }) => member_id);
    },
  };
  return createHandler(deps, observability);
});
