import * as v from 'valibot';

type Explain = (issue: { readonly received: string }) => string;

/** An error message that says what would be right, and what the value is. */
export const explain =
  (right: string): Explain =>
  ({ received }) =>
    received === 'undefined' ? `is missing: ${right}` : `${right}, is ${received}`;

export function numberBetween(from: number, to: number, unit: string) {
  const message = explain(`must be a number from ${from} to ${to} (${unit})`);
  return v.pipe(v.number(message), v.minValue(from, message), v.maxValue(to, message));
}

export function wholeBetween(from: number, to: number, unit: string) {
  const message = explain(`must be a whole number from ${from} to ${to} (${unit})`);
  return v.pipe(
    v.number(message),
    v.check((value) => Number.isInteger(value) && value >= from && value <= to, message),
  );
}

/** An object that accepts only these keys, so that a misspelt key is an error and not a default. */
export function section<E extends v.ObjectEntries>(entries: E) {
  const known = Object.keys(entries).join(', ');
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === 'never') return `is not a known key; known are ${known}`;
    if (expected?.startsWith('"')) return 'is missing';
    return `must be an object with the keys ${known}, is ${received}`;
  });
}

/** A section that has the same kind of value for each name. */
export function sectionOf<K extends string, S extends v.GenericSchema>(names: readonly K[], schema: (name: K) => S) {
  const entries = Object.fromEntries(names.map((name) => [name, schema(name)]));
  return section(entries as Record<K, S>);
}

export function list(item: v.GenericSchema<string>, of: string) {
  return v.array(item, explain(`must be a list of ${of}`));
}
