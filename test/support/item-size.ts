import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';

/**
 * Bytes of an item as DynamoDB charges for them: names and texts in UTF-8, a number about one byte per two digits plus
 * one, null and boolean one byte (Developer Guide, "DynamoDB item sizes and formats").
 */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0);
}

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.length;
  if (value.N !== undefined) return Math.ceil(value.N.replace(/^-?0*|[.]/g, '').length / 2) + 1;
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  // The pipeline writes no lists, maps or sets.
  throw new TypeError(`The size of a value of this type is not known: ${Object.keys(value).join()}`);
}
