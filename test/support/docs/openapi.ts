import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';

/** Parts of an OpenAPI document, made from the routes and schemas that answer requests. */

export type Json = Readonly<Record<string, unknown>>;

/** Rules that JSON Schema cannot express are left out: that text is well-formed, that a time exists. */
export function schemaOf(schema: v.GenericSchema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
  });
  return rest;
}

/** What each of our documents begins with. */
export function documentHead(title: string, summary: string) {
  const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  return { openapi: '3.1.0', info: { title, version: '1.0.0', summary, license }, servers: [{ url: '/' }] };
}

/** The operations of each path by method, in the order of the routes. @param keys such as `GET /v1/emails` */
export function pathsOf<R extends { readonly key: string }>(routes: readonly R[], operation: (route: R) => Json): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const [method = '', path = ''] = route.key.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route) };
  }
  return paths;
}

const AS_SEGMENT =
  'If it has one of / \\ ? # % + ; ~ or control characters: `~` and its UTF-8 in base64url without padding';

/** @param schemas by name; a parameter without one is as `other` says */
export function pathParameters(key: string, other: Json, schemas: Readonly<Record<string, v.GenericSchema>> = {}) {
  return [...key.matchAll(/\{(\w+)\}/g)].map(([, name = '']): Json => {
    const schema = schemas[name];
    const shape = schema === undefined ? other : schemaOf(schema);
    return { name, in: 'path', required: true, description: AS_SEGMENT, schema: shape };
  });
}

export function queryParameters(schema: v.GenericSchema): Json[] {
  const { properties = {}, required = [] } = schemaOf(schema) as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, of]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    schema: asNumber(of),
  }));
}

/** Text that has a least value is a number to whoever calls: clients that are generated take it as one. */
function asNumber(of: Json): Json {
  if (of['type'] !== 'string' || of['minimum'] === undefined) return of;
  const { pattern: _, default: standard, ...rest } = of;
  return { ...rest, type: 'integer', ...(standard !== undefined && { default: Number(standard) }) };
}

/** What a body or an answer with JSON is. */
export const jsonContent = (schema: Json): Json => ({ 'application/json': { schema } });

export const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
