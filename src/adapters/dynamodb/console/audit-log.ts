import { DeleteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Guard } from '../../../core/model/row-change.ts';
import { type Clock, DAY_MS } from '../../../core/model/time.ts';
import type { AuditLog, AuditPlace, AuditRecord, KnownRequest } from '../../../core/operator/audit.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, query } from '../table/reads.ts';
import { ifConditionHolds, putGuarded, updateItem } from '../table/writes.ts';

const KEPT_DAYS = 400;
/** Days that the answer to a request is kept for its repetitions. */
const ANSWERED_DAYS = 2;
const PAGE = 200;
/** Days that one page of the list reads at most, so that a rare filter does not read a year. */
const MOST_DAYS = 31;

export function createAuditLog(client: DynamoDBClient, TableName: string, clock: Clock): AuditLog {
  const requestKey = (request_id: string) => ({ bucket: { S: `request#${request_id}` }, item: { S: 'answer' } });
  const expiresIn = (days: number) => Math.ceil((clock().getTime() + days * DAY_MS) / 1000);

  async function known(request_id: string): Promise<KnownRequest | undefined> {
    const item = await getItem(client, TableName, requestKey(request_id));
    if (item === undefined) return undefined;
    const { begun_at, fingerprint, answer } = unmarshall(item);
    return { begun_at, fingerprint, ...(answer !== undefined && { answer }) };
  }

  const page = (bucket: string, before: string) =>
    query(client, {
      table: TableName,
      key: { bucket },
      backwards: true,
      limit: PAGE,
      range: ['item', '<', before],
    });

  return {
    async begin(request_id, request) {
      const item = { ...request, expires_at: expiresIn(ANSWERED_DAYS) };
      const whole = { ...toItem(item), ...requestKey(request_id) };
      const { applied } = await putGuarded(client, TableName, whole, [[['bucket', '=', undefined]]]);
      return applied ? undefined : known(request_id);
    },

    async answer(request_id, answer) {
      await updateItem(client, TableName, requestKey(request_id), { set: { answer } });
    },

    async release(request_id, begun_at) {
      const remove = new DeleteItemCommand({
        TableName,
        Key: requestKey(request_id),
        ConditionExpression: 'begun_at = :begun AND attribute_not_exists(answer)',
        ExpressionAttributeValues: { ':begun': { S: begun_at } },
      });
      await ifConditionHolds(client.send(remove), undefined);
    },

    async takeOver(request_id, was, begun_at) {
      const unanswered: Guard = [
        ['begun_at', '=', was.begun_at],
        ['answer', '=', undefined],
      ];
      return (await updateItem(client, TableName, requestKey(request_id), { set: { begun_at } }, [unanswered])).applied;
    },

    async write(record) {
      const Item = toItem({
        ...record,
        bucket: record.at.slice(0, 10),
        item: `${record.at}#${record.audit_id}`,
        expires_at: expiresIn(KEPT_DAYS),
      });
      // One that has ended is not written again: a result that is there is the answer to a put that was repeated.
      await putGuarded(client, TableName, Item, [[['result', '=', undefined]]]);
    },

    async list({ from, to, limit, after, fits }) {
      const records: AuditRecord[] = [];
      let day = after?.day ?? to.slice(0, 10);
      let last = after?.item ?? `${to}#~`;
      const first = Math.max(Date.parse(from.slice(0, 10)), Date.parse(day) - MOST_DAYS * DAY_MS);
      while (Date.parse(day) >= first) {
        const { items, next } = await page(day, last);
        for (const found of items) {
          const record = toRecord(found);
          if (record.at < from) return { records };
          if (records.length === limit) return { records, next: { day, item: last } };
          last = found['item']?.S ?? '';
          if (fits(record)) records.push(record);
        }
        if (next !== undefined) continue;
        day = new Date(Date.parse(day) - DAY_MS).toISOString().slice(0, 10);
        last = '~';
      }
      const next: AuditPlace = { day, item: last };
      return day >= from.slice(0, 10) ? { records, next } : { records };
    },
  };
}

function toRecord(item: Item): AuditRecord {
  const { bucket: _, item: __, expires_at: ___, ...record } = unmarshall(item);
  return record as AuditRecord;
}
