import * as v from 'valibot';

/** Any result of JSON.parse. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined for what is no JSON. */
export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A schema for an object of any form. */
export const object = v.custom<JsonObject>((value) => isObject(value as Json), 'Expected an object');

/** @throws Error that names `what` and the place in it */
export function read<S extends v.GenericSchema>(schema: S, value: unknown, what: string): v.InferOutput<S> {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return parsed.output;
  throw new Error(value === undefined ? `${what} is missing` : `${what}: ${v.summarize(parsed.issues)}`);
}

/** @throws Error that names `what` when the value is not an object */
export const objectAt = (value: Json | undefined, what: string): JsonObject => read(object, value, what);

/** @throws Error that names `what` when the value is not a string */
export const textAt = (value: Json | undefined, what: string): string => read(v.string(), value, what);
