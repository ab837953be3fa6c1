import { newsletterId } from './newsletter-schemas.ts';
import { answer, retryAfterSome } from './openapi-answers.ts';
import { schemaOf } from './openapi-components.ts';
import { idempotencyHeader, jsonBody, operation } from './openapi-operation.ts';

type Json = Readonly<Record<string, unknown>>;

const newsletterInPath = { name: 'newsletter_id', in: 'path', required: true, schema: schemaOf(newsletterId) };
const memberInPath = { name: 'member_id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } };
const optionalKey = {
  ...idempotencyHeader,
  required: false,
  description: 'Accepted, and not needed: a repeated request stores the same again',
};

/** The operations of newsletters and members. */
export function newsletterPaths(): Json {
  return {
    '/v1/newsletters': {
      get: operation('newsletters:read', 'listNewsletters', "List the tenant's newsletters", {
        parameters: [],
        ok: { 200: answer('Newsletters', 'NewsletterList') },
        problems: [],
      }),
    },
    '/v1/newsletters/{newsletter_id}': {
      put: operation('newsletters:write', 'putNewsletter', 'Make or replace a newsletter', {
        parameters: [newsletterInPath],
        requestBody: jsonBody('Newsletter'),
        ok: { 200: answer('The newsletter as it is stored', 'NewsletterState') },
        problems: ['invalid-request'],
      }),
      get: operation('newsletters:read', 'getNewsletter', 'Show a newsletter', {
        parameters: [newsletterInPath],
        ok: { 200: answer('The newsletter', 'NewsletterState') },
        problems: ['not-found'],
      }),
    },
    '/v1/members': {
      post: operation(
        'newsletters:write',
        'upsertMembers',
        'Add or change up to 500 members. Each has its own result',
        {
          parameters: [optionalKey],
          requestBody: jsonBody('Members'),
          ok: { 200: answer('One result per member, in the order of the members', 'MemberResults', retryAfterSome) },
          problems: ['invalid-request', 'idempotency-key-missing'],
        },
      ),
    },
    '/v1/members/{member_id}': {
      get: operation('newsletters:read', 'getMember', 'Show a member', {
        parameters: [memberInPath],
        ok: { 200: answer('The member', 'MemberState') },
        problems: ['not-found'],
      }),
      delete: operation(
        'newsletters:write',
        'deleteMember',
        'Delete a member. Unsubscriptions and suppression of the address stay',
        {
          parameters: [memberInPath],
          ok: { 200: answer('The member is deleted', 'DeletedMember') },
          problems: ['not-found'],
        },
      ),
    },
    '/v1/members/{member_id}/resubscribe': {
      post: operation(
        'newsletters:write',
        'resubscribeMember',
        'Subscribe a member again who unsubscribed, because the member asked for it',
        {
          parameters: [memberInPath, optionalKey],
          requestBody: jsonBody('Resubscription'),
          ok: { 200: answer('The member', 'MemberState') },
          problems: ['invalid-request', 'idempotency-key-missing', 'not-found'],
        },
      ),
    },
  };
}
