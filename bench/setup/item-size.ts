import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';

/**
 * Bytes of an item as DynamoDB charges for it: names and texts in UTF-8, a number about a byte for two digits and one
 * more, null and boolean one byte (Developer Guide, "DynamoDB item sizes and formats").
 */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0);
}

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.length;
  if (value.N !== undefined) return Math.ceil(value.N.replace(/^-?0*|[.]/g, '').length / 2) + 1;
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  // The pipeline writes neither lists nor maps nor sets.
  throw new TypeError(`The size of such a value is not known: ${Object.keys(value).join()}`);
}
