/** Any result of JSON.parse. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws Error that names `what` when the value is not an object */
export function objectAt(value: Json | undefined, what: string): JsonObject {
  if (!isObject(value)) throw new Error(`${what} should be an object, but is ${describe(value)}`);
  return value;
}

/** @throws Error that names `what` when the value is not a string */
export function textAt(value: Json | undefined, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} should be a string, but is ${describe(value)}`);
  return value;
}

/** A number, which CloudFormation may have written as text; `fallback` when it is absent. */
export function numberAt(value: Json | undefined, what: string, fallback?: number): number {
  if (value === undefined && fallback !== undefined) return fallback;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) {
    throw new Error(`${what} should be a number, but is ${describe(value)}`);
  }
  return number;
}

/** An absent list is an empty one. */
export function listAt(value: Json | undefined, what: string): readonly Json[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error(`${what} should be a list, but is ${describe(value)}`);
  return value as readonly Json[];
}

function describe(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a${typeof value === 'object' ? 'n object' : ` ${typeof value}`}`;
}
