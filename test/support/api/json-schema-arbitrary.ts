import fc from 'fast-check';

/** As much of JSON Schema as our OpenAPI document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** Longer texts find nothing that these do not, and make a run slow. */
const LONGEST = 60;

/** Values that a schema allows. */
export function fromSchema(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'object':
      return objects(schema, fromSchema);
    case 'array':
      return fc.array(fromSchema(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 });
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 100 });
    case 'string':
      return texts(schema);
    default:
      return fc.jsonValue();
  }
}

/** Values that a schema allows but for one place or another. */
export function nearlyFromSchema(schema: JsonSchema): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(fc.jsonValue(), fc.constant(''), fc.constant('x'.repeat(600)), fc.constant(-1));
  if (schema.type === 'array') return fc.oneof(wrong, fc.array(nearlyFromSchema(schema.items ?? {}), { maxLength: 3 }));
  if (schema.type !== 'object') return fc.oneof(fromSchema(schema), wrong);
  const mostly = (part: JsonSchema) =>
    fc.oneof(
      { weight: 9, arbitrary: fromSchema(part) },
      { weight: 2, arbitrary: part.type === 'object' || part.type === 'array' ? nearlyFromSchema(part) : wrong },
    );
  return fc.oneof(
    { weight: 5, arbitrary: objects(schema, mostly) },
    { weight: 1, arbitrary: fc.tuple(objects(schema, mostly), fc.dictionary(fc.string(), fc.jsonValue())).map(merged) },
    { weight: 1, arbitrary: wrong },
  );
}

const merged = ([known, more]: [object, object]): object => ({ ...known, ...more });

function objects({ properties = {}, required = [] }: JsonSchema, of: (schema: JsonSchema) => fc.Arbitrary<unknown>) {
  const parts = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, of(part)]));
  return fc.record(parts, { requiredKeys: [...required] });
}

function texts({ minLength = 0, maxLength = LONGEST, pattern, format }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const near = { min: new Date(Date.now() - 3 * 3_600_000), max: new Date(Date.now() + 86_400_000) };
    return fc.date({ ...near, noInvalidDate: true }).map((date) => date.toISOString());
  }
  if (pattern !== undefined && pattern !== '\\S') return fc.stringMatching(new RegExp(pattern));
  const text = fc.string({ minLength, maxLength: Math.min(maxLength, LONGEST), unit: 'grapheme' });
  // JavaScript counts UTF-16 units where JSON Schema counts characters.
  return text.filter(
    (one) => one.length <= maxLength && one.length >= minLength && (pattern === undefined || /\S/.test(one)),
  );
}
