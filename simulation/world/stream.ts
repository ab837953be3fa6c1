import { FOREIGN_ROWS } from '../../lib/constructs/indexing/indexer-stream-filter.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { matchesAny } from '../../src/local/emulator/events/event-filter.ts';
import type { JsonObject } from '../../src/local/support/json.ts';
import type { Stored } from '../audit/promises.ts';

const PATTERNS = FOREIGN_ROWS.map((filter) => JSON.parse(filter['pattern']) as JsonObject);

/** Whether the indexer's event source takes the image, by the deployed filter. */
export function passesFilter(row: Stored): boolean {
  const NewImage = JSON.parse(JSON.stringify(toItem(row))) as JsonObject;
  return matchesAny(PATTERNS, { eventName: 'MODIFY', dynamodb: { NewImage } });
}
