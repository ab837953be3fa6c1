import type * as v from 'valibot';
import type { FieldFault } from '../../core/model/problem.ts';

type Schema = v.GenericSchema & {
  /** The inner schema of an optional one. */
  readonly wrapped?: Schema;
  /** The entries of an object. */
  readonly entries?: Readonly<Record<string, Schema>>;
};

/** A key is the caller's text, so only as much of it is repeated as is needed to find it. */
const MAX_PATH = 100;

/** All keys that the schema does not know, also in nested objects. Valibot itself stops at the first one. */
export function unknownKeys({ wrapped, entries }: Schema, input: unknown, at = ''): FieldFault[] {
  if (wrapped !== undefined) return unknownKeys(wrapped, input, at);
  if (entries === undefined || typeof input !== 'object' || input === null) return [];
  const message = `is not known here; known keys are ${Object.keys(entries).join(', ')}`;
  return Object.entries(input).flatMap(([key, value]) => {
    const path = `${at}${key}`;
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry !== undefined) return unknownKeys(entry, value, `${path}.`);
    return { path: path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path, rule: 'unknown', message };
  });
}
