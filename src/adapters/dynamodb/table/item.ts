import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, NumberValueImpl, unmarshall } from '@aws-sdk/util-dynamodb';
import type { ForeignRow, NotificationRow, RetryRecord } from '../../../core/model/notification.ts';
import { STATE_COLUMNS } from '../../../core/model/row-change.ts';

export type Item = Record<string, AttributeValue>;

/** Names columns by placeholders, as any column may be a reserved word of DynamoDB. */
export function projection(columns: readonly string[]) {
  return {
    ProjectionExpression: columns.map((_, i) => `#c${i}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(columns.map((column, i) => [`#c${i}`, column])),
  };
}

export function toItem(value: object): Item {
  const item: Item = {};
  for (const [name, one] of Object.entries(value)) if (one !== undefined) item[name] = toValue(one);
  return item;
}

/** The usual types at once; the library, which builds an item for each value, for all others and for what it refuses. */
export function toValue(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(toValue) };
  if (value instanceof StoredValue) return value.attribute;
  if (isRecord(value)) return { M: toItem(value) };
  const { value: marshalled } = marshall({ value }, { removeUndefinedValues: true });
  if (marshalled === undefined) throw new TypeError('An attribute that is to be written has no value.');
  return marshalled;
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * An attribute without an exact equivalent in JavaScript: binary, a set, or a map or list with one of them or with a
 * number that JavaScript cannot represent. It is written back, and compared, as it was read.
 */
class StoredValue {
  readonly attribute: AttributeValue;

  constructor(attribute: AttributeValue) {
    this.attribute = attribute;
  }

  get [Symbol.toStringTag](): string {
    return 'StoredValue';
  }

  toString(): string {
    return `(${Object.keys(this.attribute).join()})`;
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Never throws: a number that JavaScript cannot represent stays a NumberValue, which the rules for rows refuse. */
export function toForeignRow(item: Item): ForeignRow {
  const row: Record<string, unknown> = {};
  for (const [name, attribute] of Object.entries(item)) put(row, name, plainOrStored(attribute));
  return row;
}

/** An assignment takes a fraction of the time of a definition; only this name would change the object's prototype. */
function put(row: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true });
  else row[name] = value;
}

function plainOrStored(attribute: AttributeValue): unknown {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return isExact(attribute.N) ? Number(attribute.N) : NumberValueImpl.from(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.NULL !== undefined) return null;
  return isPlain(attribute) ? unmarshall({ attribute })['attribute'] : new StoredValue(attribute);
}

function isPlain({ S, N, BOOL, NULL, M, L }: AttributeValue): boolean {
  if (N !== undefined) return isExact(N);
  if (M !== undefined) return Object.values(M).every(isPlain);
  if (L !== undefined) return L.every(isPlain);
  return S !== undefined || BOOL !== undefined || NULL !== undefined;
}

function isExact(text: string): boolean {
  const number = Number(text);
  return Number.isInteger(number) ? Number.isSafeInteger(number) : String(number) === text;
}

/** A row of a stream event. Lambda encodes its binary values as base64 text. */
export function streamImage(image: Readonly<Record<string, unknown>>): Item {
  return JSON.parse(JSON.stringify(image), (name, value) => {
    if (name === 'B' && typeof value === 'string') return Buffer.from(value, 'base64');
    return name === 'BS' && Array.isArray(value) ? value.map((text) => Buffer.from(String(text), 'base64')) : value;
  });
}

/**
 * A row of the pipeline. NULL means absent, as for a writer that sets every column it knows; only a state column keeps
 * it, because a guard compares it with what is stored.
 */
export function toNotificationRow(item: Item): NotificationRow {
  const row: Record<string, unknown> = { send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1 };
  // DynamoDB promises no order: rows whose columns come in different orders have different classes in V8, by which each
  // access to them is slower.
  for (const name of Object.keys(item).sort()) {
    const value = plainOrStored(item[name] as AttributeValue);
    if (value !== null || isState(name)) put(row, name, value);
  }
  return row as unknown as NotificationRow;
}

const isState = (name: string): boolean => STATE_COLUMNS.some((column) => column === name);

export const toRetryRecord = (item: Item): RetryRecord => unmarshall(item) as RetryRecord;
