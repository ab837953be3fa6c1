import type * as v from 'valibot';
import type { FieldFault } from '../../core/intake/problem.ts';

type Schema = v.GenericSchema & {
  /** Of what is optional. */
  readonly wrapped?: Schema;
  /** Of an object. */
  readonly entries?: Readonly<Record<string, Schema>>;
};

/** A key is the caller's text: as much of it as finds it. */
const MAX_PATH = 100;

/** Every key that an object of the schema does not know, in nested objects, too; valibot itself stops at the first. */
export function unknownKeys({ wrapped, entries }: Schema, input: unknown, at = ''): FieldFault[] {
  if (wrapped !== undefined) return unknownKeys(wrapped, input, at);
  if (entries === undefined || typeof input !== 'object' || input === null) return [];
  const message = `is not known here; known are ${Object.keys(entries).join(', ')}`;
  return Object.entries(input).flatMap(([key, value]) => {
    const path = `${at}${key}`;
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry !== undefined) return unknownKeys(entry, value, `${path}.`);
    return { path: path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path, rule: 'unknown', message };
  });
}
