import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import * as emails from './email-schemas.ts';
import * as newsletters from './newsletter-schemas.ts';
import * as requests from './request-schemas.ts';
import * as responses from './response-schemas.ts';
import * as tokens from './token-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

/** The document's components/schemas: the API's own schemas as JSON Schema. */
export function schemas() {
  return {
    Notification: schemaOf(requests.notificationSchema),
    Batch: withItems(requests.batchSchema, 'notifications', requests.batchItemSchema),
    Failure: schemaOf(requests.failureSchema),
    Accepted: schemaOf(responses.accepted),
    BatchResults: schemaOf(responses.batchResults),
    NotificationState: schemaOf(responses.notificationState),
    NotificationList: schemaOf(responses.notificationList),
    TokenRequest: schemaOf(tokens.tokenSchema),
    Token: schemaOf(tokens.tokenAnswer),
    Newsletter: schemaOf(newsletters.newsletterSchema),
    NewsletterState: schemaOf(newsletters.newsletterAnswer),
    NewsletterList: schemaOf(newsletters.newsletterList),
    Members: withItems(newsletters.membersSchema, 'members', newsletters.memberSchema),
    MemberResults: schemaOf(newsletters.memberResults),
    MemberState: schemaOf(newsletters.memberAnswer),
    DeletedMember: schemaOf(newsletters.deletedMember),
    Resubscription: schemaOf(newsletters.resubscribeSchema),
    Email: schemaOf(emails.emailSchema),
    AcceptedEmail: schemaOf(emails.acceptedEmail),
    EmailState: schemaOf(emails.emailState),
    EmailList: schemaOf(emails.emailList),
    EmailBatchList: schemaOf(emails.emailBatchList),
    RecipientList: schemaOf(emails.recipientList),
    TestMail: schemaOf(emails.testSchema),
    TestResults: schemaOf(emails.testResults),
    Resolution: schemaOf(emails.resolveSchema),
    ResolvedEmail: schemaOf(emails.resolvedEmail),
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

/** The schema of a list whose items are validated one by one. */
function withItems(schema: v.GenericSchema, name: string, item: v.GenericSchema): Json {
  const { properties, ...rest } = schemaOf(schema) as { properties: Readonly<Record<string, Json>> };
  return { ...rest, properties: { ...properties, [name]: { ...properties[name], items: schemaOf(item) } } };
}
