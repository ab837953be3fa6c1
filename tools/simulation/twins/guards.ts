import { isDeepStrictEqual } from 'node:util';
import { NumberValueImpl } from '@aws-sdk/util-dynamodb';
import type { Comparison, Guard } from '../../../src/core/model/row-change.ts';

type Stored = Readonly<Record<string, unknown>>;

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
