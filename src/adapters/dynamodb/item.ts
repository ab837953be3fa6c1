import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { NotificationRow, RetryRecord } from '../../core/notification.ts';
import type { ForeignRow } from '../../core/row-rules.ts';

export type Item = Record<string, AttributeValue>;

export function toItem(value: object): Item {
  return marshall(value, { removeUndefinedValues: true });
}

export function toValue(value: unknown): AttributeValue {
  const { value: marshalled } = marshall({ value }, { removeUndefinedValues: true });
  if (marshalled === undefined) throw new TypeError('An attribute to write has no value.');
  return marshalled;
}

export function toForeignRow(item: Item): ForeignRow {
  return unmarshall(item);
}

/** A row that is in the pipeline: its routing and counters were written by our own code, its times are ISO-8601. */
export function toNotificationRow(item: Item): NotificationRow {
  const row = unmarshall(item);
  return { ...row, send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1, ...row } as NotificationRow;
}

export function toRetryRecord(item: Item): RetryRecord {
  return unmarshall(item) as RetryRecord;
}
