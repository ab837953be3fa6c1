import { isObject, type Json, type JsonObject } from '../../support/json.ts';

/**
 * Whether the FilterCriteria of an event source mapping accept a record: one matching pattern suffices.
 * @param patterns the parsed `Pattern` texts; an empty list accepts every record
 * @throws Error that quotes an unknown operator, because to ignore it would accept records that AWS does not
 */
export function matchesAny(patterns: readonly JsonObject[], event: JsonObject): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matches(pattern, event));
}

/** EventBridge's matching, which Lambda uses, too: every key is required, the values of a list are alternatives. */
export function matches(pattern: JsonObject, event: Json | undefined): boolean {
  return Object.entries(pattern).every(([key, wanted]) => {
    if (key === '$or' && Array.isArray(wanted)) {
      return wanted.some((alternative: Json) => isObject(alternative) && matches(alternative, event));
    }
    const actual = isObject(event) ? event[key] : undefined;
    if (isObject(wanted)) return matchesNested(wanted, actual);
    if (!Array.isArray(wanted)) throw new Error(`filter: ${key} must be a list of alternatives or an object`);
    return wanted.some((alternative: Json) => matchesLeaf(alternative, actual));
  });
}

function matchesNested(pattern: JsonObject, actual: Json | undefined): boolean {
  return Array.isArray(actual) ? actual.some((item: Json) => matches(pattern, item)) : matches(pattern, actual);
}

function matchesLeaf(alternative: Json, actual: Json | undefined): boolean {
  if (isObject(alternative)) {
    const [operator, ...others] = Object.keys(alternative);
    if (operator === undefined || others.length > 0)
      throw new Error('filter: each alternative must have exactly one operator');
    const operand = alternative[operator] ?? null;
    // AWS looks at leaves only: for this operator an attribute whose value is an object (`{"S":"x"}`) does not exist.
    if (operator === 'exists') return operand === (actual !== undefined && !isObject(actual));
    return leaves(actual).some((leaf) => applies(operator, operand, leaf));
  }
  return leaves(actual).some((leaf) => leaf === alternative);
}

function leaves(actual: Json | undefined): readonly Json[] {
  if (actual === undefined || isObject(actual)) return [];
  return Array.isArray(actual) ? actual : [actual];
}

function applies(operator: string, operand: Json, leaf: Json): boolean {
  switch (operator) {
    case 'prefix':
      return typeof leaf === 'string' && leaf.startsWith(String(operand));
    case 'wildcard':
      return typeof leaf === 'string' && fitsWildcard(leaf, String(operand).split('*'));
    case 'anything-but':
      return ![operand]
        .flat()
        .some((excluded) => (isObject(excluded) ? matchesLeaf(excluded, leaf) : excluded === leaf));
    default:
      throw new Error(`filter: the local runtime does not know the operator ${operator}`);
  }
}

/** Whether the pieces between the asterisks occur in this order, the first at the start and the last at the end. */
function fitsWildcard(text: string, [first = '', ...pieces]: readonly string[]): boolean {
  const last = pieces.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length >= at + last.length && text.endsWith(last);
}
