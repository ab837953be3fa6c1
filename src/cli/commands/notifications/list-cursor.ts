import * as v from 'valibot';
import type { SearchPosition } from '../../../adapters/dynamodb/operator/operator-search.ts';
import type { Period } from '../../../core/operator/search-filter.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';

/** Where a page of a list ended. The cursor holds the period, because a default period moves with the clock. */
export interface ListCursor {
  readonly source: 'created' | 'due' | 'dead';
  readonly period: Period;
  readonly after: SearchPosition;
}

const text = v.pipe(v.string(), v.minLength(1));
const cursor = v.object({
  source: v.picklist(['created', 'due', 'dead']),
  period: v.object({ from: text, to: text }),
  after: v.object({ partition: text, sort: text, log_id: text }),
});

export function encodeCursor(position: ListCursor): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws OperatorError if the list did not make this cursor */
export function decodeCursor(encoded: string): ListCursor {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), cursor), Buffer.from(encoded, 'base64url').toString());
  if (parsed.success) return parsed.output;
  throw badCursor();
}

export function badCursor(): OperatorError {
  return new OperatorError(
    '--cursor is not from this list: use next_cursor of its output with the same filters, or omit --cursor.',
    EXIT_USAGE,
  );
}
