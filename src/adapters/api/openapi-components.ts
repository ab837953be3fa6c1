import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import * as requests from './request-schemas.ts';
import * as responses from './response-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

/** The document's components/schemas: the API's own schemas as JSON Schema. */
export function schemas() {
  return {
    Notification: schemaOf(requests.notificationSchema),
    Batch: batchSchema(),
    Failure: schemaOf(requests.failureSchema),
    Accepted: schemaOf(responses.accepted),
    BatchResults: schemaOf(responses.batchResults),
    NotificationState: schemaOf(responses.notificationState),
    NotificationList: schemaOf(responses.notificationList),
    Problem: schemaOf(responses.problem),
    GatewayRefusal: schemaOf(responses.gatewayRefusal),
  };
}

export type SchemaName = keyof ReturnType<typeof schemas>;

export function reference(name: SchemaName): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Rules that JSON Schema cannot express are left out: that text is well-formed, that a time exists. */
export function schemaOf(schema: v.GenericSchema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
  });
  return rest;
}

function batchSchema(): Json {
  const { properties, ...rest } = schemaOf(requests.batchSchema) as { properties: Readonly<Record<string, Json>> };
  const items = schemaOf(requests.batchItemSchema);
  return { ...rest, properties: { ...properties, notifications: { ...properties['notifications'], items } } };
}
