import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../core/model/time.ts';
import { setAside } from '../../../core/model/work/set-aside.ts';
import type { MalformedEntries } from '../../../core/sweep/malformed-entries.ts';
import { updateGuarded } from '../table/guarded-update.ts';

/** MalformedEntries on NotificationLog. A row that has changed since its entry was read stays as it is. */
export function createMalformedEntries(client: DynamoDBClient, table: string, clock: Clock): MalformedEntries {
  return {
    async setAside({ log_id, work_queue, work_at, faults }) {
      const { set, why } = setAside(faults, clock());
      const taken = { log_id, remove: ['work_queue', 'work_at'], asRead: { work_queue, work_at } };
      const done =
        (await updateGuarded(
          client,
          table,
          { ...taken, set },
          { text: '#g9 <> :g9', names: STATUS, values: SUCCESS },
        )) ||
        // SUCCESS is final: a delivered row only leaves the index.
        (await updateGuarded(client, table, {
          ...taken,
          set: {},
          asRead: { ...taken.asRead, send_status: 'SUCCESS' },
        }));
      return done ? why : undefined;
    },
  };
}

const STATUS = { '#g9': 'send_status' };
const SUCCESS = { ':g9': { S: 'SUCCESS' } };
