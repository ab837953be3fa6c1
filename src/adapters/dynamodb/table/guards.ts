import { isDeepStrictEqual } from 'node:util';
import { NumberValueImpl } from '@aws-sdk/util-dynamodb';

type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=' | 'begins_with';

/**
 * The condition of a write, as data: DynamoDB's stores render it, their twins evaluate it. All of it has to hold. A column
 * that equals `undefined` is absent or NULL, as for a writer that sets every column it knows. A dot leads into a map.
 */
export type Guard = readonly (readonly [column: string, is: Comparison | `absent or ${Comparison}`, value: unknown])[];

type Stored = Readonly<Record<string, unknown>>;

/** The columns are as they were read. Reading a row that was never attempted supplies −1 for its `last_attempt`. */
export function asRead<C extends string>(row: Readonly<Partial<Record<C, unknown>>>, columns: readonly C[]): Guard {
  return columns.map((column) => [
    column,
    column === 'last_attempt' && row[column] === -1 ? 'absent or =' : '=',
    row[column],
  ]);
}

/** There is no item of this `log_id` yet. */
export const NEW: Guard = [['log_id', '=', undefined]];

/** The item is new, or of the version before: one of several writers at once wins. */
export function nextVersion(key: string, version: number): readonly Guard[] {
  return [[[key, '=', undefined]], [['version', '=', version - 1]]];
}

/** The item has the version that it was read with; 0: there was none. */
export function ofVersion({ version }: { readonly version: number }): Guard {
  return [['version', '=', version === 0 ? undefined : version]];
}

/** The item is as somebody looked at it; null: there was none. */
export const ofTime = (updated_at: string | null): Guard => [['updated_at', '=', updated_at ?? undefined]];

/** There is an item, which has this column. */
export const isThere = (column: string): Guard => [[column, '<>', undefined]];

/** Whether a stored item, or nothing, is as the guard has it. */
export function holds(guard: Guard, stored: Stored = {}): boolean {
  return guard.every(([column, is, value]) => {
    const found = column.includes('.') ? foundIn(stored, column) : stored[column];
    if (is.startsWith('absent or ') && found === undefined) return true;
    return COMPARE[is.replace('absent or ', '') as Comparison](found, value);
  });
}

function foundIn(stored: Stored, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as Stored | undefined)?.[name], stored);
}

export function isAny(guards: readonly Guard[], stored: Stored | undefined): boolean {
  return guards.some((guard) => holds(guard, stored));
}

const COMPARE: Readonly<Record<Comparison, (found: unknown, value: unknown) => boolean>> = {
  '=': (found, value) => isDeepStrictEqual(found, value) || (value === undefined && found === null),
  '<>': (found, value) => !COMPARE['='](found, value),
  '<': (found, value) => order(found, value) < 0,
  '<=': (found, value) => order(found, value) <= 0,
  '>': (found, value) => order(found, value) > 0,
  '>=': (found, value) => order(found, value) >= 0,
  begins_with: (found, value) => typeof found === 'string' && found.startsWith(String(value)),
};

/** NaN for values of two types, which DynamoDB does not compare. */
function order(found: unknown, value: unknown): number {
  if (typeof found === 'string' && typeof value === 'string') return found < value ? -1 : Number(found > value);
  const [a, b] = [found, value].map((one) => (one instanceof NumberValueImpl ? BigInt(String(one)) : one));
  const isNumber = (one: unknown) => typeof one === 'number' || typeof one === 'bigint';
  return isNumber(a) && isNumber(b) ? Number(a > b) - Number(a < b) : Number.NaN;
}
