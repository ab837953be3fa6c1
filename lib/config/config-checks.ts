import * as v from 'valibot';
import type { NumberSetting } from '../../src/core/model/setting.ts';
import type { Check, Setting, Settings } from './setting-types.ts';

type Explain = (issue: { readonly received: string }) => string;

/** An error message that says what would be right, and what the value is. */
export const explain =
  (right: string): Explain =>
  ({ received }) =>
    received === 'undefined' ? `is missing: ${right}` : `${right}, is ${received}`;

export function check<Value, Given = Value>(schema: v.GenericSchema<Given, Value>): Check<Value, Given> {
  return schema as unknown as Check<Value, Given>;
}

export function matching(pattern: RegExp, message: string | Explain) {
  return v.pipe(v.string(message), v.regex(pattern, message));
}

/**
 * @param most characters of all together: the list becomes part of a role's policy, which holds 10,240, or of a
 * function's environment, which holds 4,096. AWS would say so after minutes, and roll the stack back
 */
export function listOf<T>(item: v.GenericSchema<T>, of: string, most = 2_500): Check<readonly T[]> {
  const list = v.array(item, explain(`must be a list of ${of}`)) as v.GenericSchema<readonly T[]>;
  const short = v.check(
    (all: readonly T[]) => all.join('').length <= most,
    `must have at most ${most} characters in all`,
  );
  return check(v.pipe(list, short));
}

/** An object that accepts only the keys of these settings, so that a misspelt key is an error and not a default. */
export const sectionOf = (settings: Settings): v.GenericSchema => section(mapped(settings, schemaOf));

function schemaOf(setting: Setting): v.GenericSchema {
  if ('section' in setting) {
    const some = sectionOf(setting.section);
    const inner = setting.orFalse ? falseOr(some) : some;
    if (setting.required) return inner;
    return setting.optional ? v.exactOptional(inner) : v.optional(inner, {});
  }
  const { standard, required = false } = setting;
  if (!('check' in setting)) return numberOf(setting, setting.standard, required);
  const schema = setting.check as unknown as v.GenericSchema;
  if (required) return schema;
  return standard === undefined ? v.exactOptional(schema) : v.optional(schema, standard);
}

/** The faults of a section that is given stay those of its keys. */
function falseOr(section: v.GenericSchema): v.GenericSchema {
  return v.lazy((input) => (input === false ? v.literal(false) : section));
}

/** @param standard the setting's own, or what stands for one of its names */
export function numberOf(
  setting: NumberSetting,
  standard: NumberSetting['standard'],
  required = false,
): v.GenericSchema {
  if (typeof standard === 'object') {
    return v.optional(section(mapped(standard, (one) => numberOf(setting, one))), {});
  }
  const { from, to, unit, whole = false } = setting;
  const right = `must be a ${whole ? 'whole ' : ''}number from ${from} to ${to} (${unit})`;
  const schema = v.pipe(
    v.number(explain(right)),
    v.check((value) => (!whole || Number.isInteger(value)) && value >= from && value <= to, explain(right)),
  );
  if (required) return schema;
  return standard === undefined ? v.exactOptional(schema) : v.optional(schema, standard);
}

function section(entries: Readonly<Record<string, v.GenericSchema>>): v.GenericSchema {
  const known = Object.keys(entries).join(', ');
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === 'never') return `is not a known key; known are ${known}`;
    if (expected?.startsWith('"')) return 'is missing';
    return `must be an object with the keys ${known}, is ${received}`;
  });
}

function mapped<T, U>(from: Readonly<Record<string, T>>, to: (one: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(from).map(([name, one]) => [name, to(one)]));
}
