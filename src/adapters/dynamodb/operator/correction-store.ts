import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { asPlanned, type RowChange, stamped } from '../../../core/model/row-change.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import type { CorrectionStore } from '../../../core/operator/correct.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { recipientHash } from '../../signing/hashed-ids.ts';
import { asStored, storedSequence } from '../delivery/content-items.ts';
import { maskRecords } from '../delivery/delivery-stores.ts';
import { amendedItem } from '../delivery/successor-store.ts';
import { createRowReader, readItem } from '../table/reads.ts';
import { conditionOf, transact, updateExpression } from '../table/writes.ts';

interface CorrectionStoreOptions {
  readonly client: DynamoDBClient;
  readonly tables: {
    readonly notification_log: string;
    readonly notification_content: string;
    /** Of whoever corrects recipients. */
    readonly notification_retry_log?: string;
  };
  readonly sealer: Sealer;
  readonly hashKey: () => Promise<string>;
  readonly clock: Clock;
}

/** CorrectionStore on NotificationLog and NotificationContent: both are changed by one transaction. */
export function createCorrectionStore(options: CorrectionStoreOptions): CorrectionStore {
  const { client, tables, sealer, hashKey, clock } = options;
  const { notification_log, notification_content, notification_retry_log } = tables;
  return {
    read: createRowReader(client, notification_log),

    async correct(row, { set, remove }, content) {
      const { log_id, tenant_id } = row;
      const stored = await readItem(client, notification_content, log_id);
      if (stored?.['tenant_id']?.S !== tenant_id || stored['erased_at'] !== undefined) return false;
      const now = clock();
      const { recipient } = content;
      // Before the row: after a crash in between nothing is left that names the one of before.
      if (recipient !== undefined) {
        if (notification_retry_log === undefined)
          throw new Error('Who corrects a recipient must name the table of records.');
        await maskRecords(client, notification_retry_log, log_id);
      }
      const recipient_hash = recipient && recipientHash(await hashKey(), tenant_id, recipient);
      const change: RowChange = {
        set: { ...set, ...(recipient_hash && { recipient_hash }) },
        ...(remove && { remove }),
      };
      const owner = {
        log_id,
        tenant_id,
        expires_at: set.expires_at ?? row.expires_at ?? expiresAt(now),
        // No image brought it: of later ones each is another writer's.
        sequence: storedSequence(stored),
        attempts_before: 0,
        ...(set.life !== undefined && { life: set.life }),
      };
      const item = await amendedItem(owner, content, stored, { sealer, hashKey });
      const { expression: UpdateExpression, ...update } = updateExpression(
        stamped(row, change, { now, random: Math.random }),
      );
      const Key = { log_id: { S: log_id } };
      const Update = { TableName: notification_log, Key, UpdateExpression, ...conditionOf([asPlanned(row)], update) };
      const Item = { ...item, corrected_at: { S: now.toISOString() } };
      const Put = { TableName: notification_content, Item, ...conditionOf([asStored(stored)]) };
      return transact(client, [{ Update }, { Put }]);
    },
  };
}
