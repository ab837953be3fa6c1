import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type Item, toValue } from './item.ts';

/** The result of a conditional write; `otherwise` when its condition does not hold. */
export async function ifConditionHolds<T, O>(write: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise;
    throw error;
  }
}

/** The parts of an UpdateItem that sets and removes top-level attributes. */
export function updateExpression(change: {
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[];
}): { expression: string; names: Record<string, string>; values: Item } {
  const set = Object.entries(change.set).filter(([, value]) => value !== undefined);
  const remove = change.remove ?? [];
  const clauses = [
    ...(set.length > 0 ? [`SET ${set.map((_, i) => `#s${i} = :s${i}`).join(', ')}`] : []),
    ...(remove.length > 0 ? [`REMOVE ${remove.map((_, i) => `#r${i}`).join(', ')}`] : []),
  ];
  return {
    expression: clauses.join(' '),
    names: Object.fromEntries([
      ...set.map(([name], i) => [`#s${i}`, name]),
      ...remove.map((name, i) => [`#r${i}`, name]),
    ]),
    values: Object.fromEntries(set.map(([, value], i) => [`:s${i}`, toValue(value)])),
  };
}
