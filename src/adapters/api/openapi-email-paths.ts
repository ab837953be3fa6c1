import { batchListQuery, emailListQuery, recipientListQuery } from './email-schemas.ts';
import { answer } from './openapi-answers.ts';
import type { SchemaName } from './openapi-components.ts';
import { idempotencyHeader, jsonBody, operation, queryParameters } from './openapi-operation.ts';

type Json = Readonly<Record<string, unknown>>;

const emailInPath = { name: 'email_id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } };
const optionalKey = {
  ...idempotencyHeader,
  required: false,
  description: 'Accepted, and not remembered',
};

/** The operations of emails. */
export function emailPaths(): Json {
  return {
    '/v1/emails': {
      post: operation('newsletters:write', 'publishEmail', "Send an email to a newsletter's members", {
        parameters: [{ ...idempotencyHeader, description: 'The same for every try of one request' }],
        requestBody: jsonBody('Email'),
        ok: {
          202: answer('The email is stored', 'AcceptedEmail', {
            'Idempotent-Replayed': { description: '`true` on a repeat', schema: { const: 'true' } },
          }),
        },
        problems: ['invalid-request', 'idempotency-key-missing', 'idempotency-key-reused'],
      }),
      get: operation('newsletters:read', 'listEmails', "List the tenant's emails, newest first", {
        parameters: queryParameters(emailListQuery),
        ok: { 200: answer('Emails', 'EmailList') },
        problems: ['invalid-request'],
      }),
    },
    '/v1/emails/{email_id}': {
      get: operation('newsletters:read', 'getEmail', 'Show how far an email is', {
        parameters: [emailInPath],
        ok: { 200: answer('The email', 'EmailState') },
        problems: ['not-found'],
      }),
    },
    '/v1/emails/{email_id}/batches': {
      get: operation('newsletters:read', 'listBatches', 'List the batches of an email, the excluded recipients last', {
        parameters: [emailInPath, ...queryParameters(batchListQuery)],
        ok: { 200: answer('Batches', 'EmailBatchList') },
        problems: ['invalid-request', 'not-found'],
      }),
    },
    '/v1/emails/{email_id}/recipients': {
      get: operation(
        'newsletters:read',
        'listRecipients',
        'List the recipients of an email. A page may be empty and yet have a next one; it may exceed the limit by 49',
        {
          parameters: [emailInPath, ...queryParameters(recipientListQuery)],
          ok: { 200: answer('Recipients', 'RecipientList') },
          problems: ['invalid-request', 'not-found'],
        },
      ),
    },
    ...operations([
      ['retry', 'Send what a failed email has not submitted'],
      ['pause', 'Stop giving out batches'],
      ['resume', 'Go on with a paused email'],
      ['cancel', 'End an email: whoever has not been sent to is excluded, with the reason `cancelled`'],
    ]),
    '/v1/emails/{email_id}/test': {
      post: withBody('testEmail', 'Send the email to up to 10 addresses with sample values, and count none', {
        body: 'TestMail',
        ok: { 200: answer('One result per address', 'TestResults') },
      }),
    },
    '/v1/emails/{email_id}/resolve': {
      post: withBody('resolveEmail', 'Decide about the uncertain recipients: send again, or leave it at that', {
        body: 'Resolution',
        ok: { 202: answer('It is decided', 'ResolvedEmail') },
      }),
    },
  };
}

function operations(all: readonly (readonly [name: string, summary: string])[]): Json {
  return Object.fromEntries(
    all.map(([name, summary]) => [
      `/v1/emails/{email_id}/${name}`,
      {
        post: operation('newsletters:write', `${name}Email`, summary, {
          parameters: [emailInPath, optionalKey],
          ok: { 202: answer('It is done', 'AcceptedEmail') },
          problems: ['idempotency-key-missing', 'not-found', 'conflict'],
        }),
      },
    ]),
  );
}

function withBody(id: string, summary: string, { body, ok }: { readonly body: SchemaName; readonly ok: Json }): Json {
  return operation('newsletters:write', id, summary, {
    parameters: [emailInPath, optionalKey],
    requestBody: jsonBody(body),
    ok,
    problems: ['invalid-request', 'idempotency-key-missing', 'not-found', 'conflict'],
  });
}
