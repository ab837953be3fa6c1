import * as v from 'valibot';
import { type FieldFault, Problem } from '../core/model/problem.ts';

/** Most faults that one answer names, including the one that gives the number of the others. */
const MAX_FAULTS = 50;
/** Most faults that `detail`, the sentence for people, names. */
const MAX_DESCRIBED = 10;

/**
 * @param more faults that the schema cannot find
 * @param beside faults that are named only together with others; alone they do not refuse the request here
 * @throws Problem that names every fault with its path and rule, and quotes no value
 */
export function check<S extends v.GenericSchema>(
  schema: S,
  input: unknown,
  more: readonly FieldFault[] = [],
  beside: readonly FieldFault[] = [],
): v.InferOutput<S> {
  const parsed = v.safeParse(schema, input);
  const issues = (parsed.issues ?? []).filter(({ expected }) => expected !== 'never');
  const faults = [...issues.map(faultOf), ...more, ...unknownKeys(schema, input)];
  if (parsed.success && faults.length === 0) return parsed.output;
  throw invalid([...faults, ...beside]);
}

export function invalid(faults: readonly FieldFault[]): Problem {
  if (faults.length <= MAX_FAULTS) return new Problem('invalid-request', describe(faults), { errors: faults });
  const named = faults.slice(0, MAX_FAULTS - 1);
  const rest = { path: '', rule: 'more', message: `breaks rules at ${faults.length - named.length} more places` };
  return new Problem('invalid-request', describe(faults), { errors: [...named, rest] });
}

function describe(faults: readonly FieldFault[]): string {
  const named = faults.slice(0, MAX_DESCRIBED);
  const sentences = named.map(({ path, message }) => `${path === '' ? 'the request' : path} ${message}`);
  const rest = faults.length - named.length;
  return [...sentences, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

/** Rule names of the schemas that say how they check, replaced by names that say what the value has to be. */
const RULES: Readonly<Record<string, string>> = {
  check: 'well_formed_unicode',
  raw_check: 'existing_time',
  picklist: 'one_of',
  raw_transform: 'address',
};

function faultOf(issue: v.BaseIssue<unknown>): FieldFault {
  const path = v.getDotPath(issue) ?? '';
  if (issue.message === 'is required' || issue.received === 'undefined')
    return { path, rule: 'required', message: 'is required' };
  return { path, rule: RULES[issue.type] ?? issue.type, message: issue.message };
}

type Schema = v.GenericSchema & {
  /** The inner schema of an optional one. */
  readonly wrapped?: Schema;
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
};

/** Keys that valibot leaves out of a record without a word: what is said of them would be lost. */
const LEFT_OUT = ['__proto__', 'constructor', 'prototype'];

/** A key is the caller's text, so only as much of it is repeated as is needed to find it. */
const MAX_PATH = 100;

/** All keys that the schema does not know, also in nested objects. Valibot itself stops at the first one. */
function unknownKeys(schema: Schema, input: unknown, at = ''): FieldFault[] {
  const { wrapped, entries, options = [schema] } = schema;
  if (wrapped !== undefined) return unknownKeys(wrapped, input, at);
  if (typeof input !== 'object' || input === null) return [];
  if (options.some(({ type }) => type === 'record')) {
    const lost = LEFT_OUT.filter((key) => Object.hasOwn(input, key));
    return lost.map((key) => ({ path: `${at}${key}`, rule: 'unknown', message: 'is a name that no entry can have' }));
  }
  if (entries === undefined) return [];
  const message = `is not known here; known keys are ${Object.keys(entries).join(', ')}`;
  return Object.entries(input).flatMap(([key, value]) => {
    const path = `${at}${key}`;
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry !== undefined) return unknownKeys(entry, value, `${path}.`);
    return { path: path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path, rule: 'unknown', message };
  });
}
