/**
 * The entry of a table under a text that anyone may have stored. Every object has properties such as `constructor`; they
 * are no entries.
 */
export function entryOf<V>(table: Readonly<Record<string, V>>, key: unknown): V | undefined {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined;
}
