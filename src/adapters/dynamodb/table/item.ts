import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, NumberValueImpl, unmarshall } from '@aws-sdk/util-dynamodb';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import type { NotificationRow, RetryRecord } from '../../../core/model/notification.ts';

export type Item = Record<string, AttributeValue>;

export function toItem(value: object): Item {
  return marshall(value, { removeUndefinedValues: true });
}

export function toValue(value: unknown): AttributeValue {
  const { value: marshalled } = marshall({ value }, { removeUndefinedValues: true });
  if (marshalled === undefined) throw new TypeError('An attribute that is to be written has no value.');
  return marshalled;
}

/** Any row. A number that JavaScript cannot represent stays a NumberValue, so that the rules for rows can refuse it. */
export function toForeignRow(item: Item): ForeignRow {
  return unmarshall(item, { wrapNumbers: (text) => (isExact(text) ? Number(text) : NumberValueImpl.from(text)) });
}

function isExact(text: string): boolean {
  const number = Number(text);
  return Number.isInteger(number) ? Number.isSafeInteger(number) : String(number) === text;
}

/** A row of a stream event. Lambda encodes its binary values as base64 text. */
export function streamImage(image: Readonly<Record<string, unknown>>): Item {
  return JSON.parse(JSON.stringify(image), (name, value) =>
    name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value,
  );
}

/** A row of the pipeline: our own code wrote its routing and counters, and its times are ISO-8601. */
export function toNotificationRow(item: Item): NotificationRow {
  const row = unmarshall(item);
  return { ...row, send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1, ...row } as NotificationRow;
}

export function toRetryRecord(item: Item): RetryRecord {
  return unmarshall(item) as RetryRecord;
}
