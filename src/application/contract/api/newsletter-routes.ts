import * as answers from '../emails.ts';
import * as emails from './emails.ts';
import * as newsletters from './newsletters.ts';
import { type ApiRoutes, MAX_BATCH_BYTES, MAX_TEXT_BYTES, REPLAYED, RETRY_AFTER_SOME } from './route.ts';

const STORES_THE_SAME = {
  needed: false,
  description: 'Accepted, and not needed: a repeated request stores the same again',
} as const;

/** A tenant sets up its newsletters. */
export const NEWSLETTER_ROUTES = {
  listNewsletters: {
    key: 'GET /v1/newsletters',
    summary: "List the tenant's newsletters",
    scope: 'newsletters:read',
    query: newsletters.newsletterListQuery,
    answer: { status: 200, description: 'Newsletters', schema: newsletters.newsletterList },
  },
  putNewsletter: {
    key: 'PUT /v1/newsletters/{newsletter_id}',
    summary: 'Make or replace a newsletter',
    scope: 'newsletters:write',
    path: { newsletter_id: newsletters.newsletterId },
    body: newsletters.newsletterSchema,
    answer: { status: 200, description: 'The newsletter as it is stored', schema: newsletters.newsletterAnswer },
  },
  getNewsletter: {
    key: 'GET /v1/newsletters/{newsletter_id}',
    summary: 'Show a newsletter',
    scope: 'newsletters:read',
    path: { newsletter_id: newsletters.newsletterId },
    answer: { status: 200, description: 'The newsletter', schema: newsletters.newsletterAnswer },
    problems: ['not-found'],
  },
} as const satisfies ApiRoutes;

/** A tenant keeps its members. */
export const MEMBER_ROUTES = {
  upsertMembers: {
    key: 'POST /v1/members',
    summary: 'Add or change up to 500 members. Each has its own result',
    scope: 'newsletters:write',
    max_bytes: MAX_BATCH_BYTES,
    idempotency: STORES_THE_SAME,
    body: newsletters.membersSchema,
    answer: {
      status: 200,
      description: 'One result per member, in the order of the members',
      schema: newsletters.memberResults,
      headers: RETRY_AFTER_SOME,
    },
  },
  listMembers: {
    key: 'GET /v1/members',
    summary:
      'Read all members with their addresses, to take them elsewhere. A page may be empty and yet have a next one; it may exceed the limit, and has less than twice as many',
    scope: 'newsletters:write',
    query: newsletters.memberListQuery,
    answer: { status: 200, description: 'Members', schema: newsletters.memberList },
  },
  getMember: {
    key: 'GET /v1/members/{member_id}',
    summary: 'Show a member; address and name to keys with newsletters:write only',
    scope: 'newsletters:read',
    answer: { status: 200, description: 'The member', schema: newsletters.memberAnswer },
    problems: ['not-found'],
  },
  deleteMember: {
    key: 'DELETE /v1/members/{member_id}',
    summary: 'Delete a member. Unsubscriptions and suppression of the address stay',
    scope: 'newsletters:write',
    answer: { status: 200, description: 'The member is deleted', schema: newsletters.deletedMember },
    problems: ['not-found'],
  },
  resubscribeMember: {
    key: 'POST /v1/members/{member_id}/resubscribe',
    summary: 'Subscribe a member again who unsubscribed, because the member asked for it',
    scope: 'newsletters:write',
    idempotency: STORES_THE_SAME,
    body: newsletters.resubscribeSchema,
    answer: { status: 200, description: 'The member', schema: newsletters.memberAnswer },
    problems: ['not-found'],
  },
} as const satisfies ApiRoutes;

const NOT_REMEMBERED = { needed: false, description: 'Accepted, and not remembered' } as const;
const WRITE = { scope: 'newsletters:write', max_bytes: MAX_TEXT_BYTES + 512 * 1024 } as const;

/** What is decided about an email that is stored. */
const decision = <const K extends string>(key: K, summary: string) =>
  ({
    key,
    summary,
    scope: 'newsletters:write',
    idempotency: NOT_REMEMBERED,
    answer: { status: 202, description: 'It is done', schema: answers.acceptedEmail },
    problems: ['not-found', 'conflict'],
  }) as const;

/** A tenant writes, tests, publishes and replaces emails, follows them, and decides about them. */
export const EMAIL_ROUTES = {
  listEmails: {
    key: 'GET /v1/emails',
    summary: "List the tenant's emails, newest first",
    scope: 'newsletters:read',
    query: emails.emailListQuery,
    answer: { status: 200, description: 'Emails', schema: answers.emailList },
  },
  publishEmail: {
    ...WRITE,
    key: 'POST /v1/emails',
    summary: "Send an email to a newsletter's members; with `dry_run`, only say what would happen",
    idempotency: { needed: true, description: 'The same for every try of one request' },
    body: emails.emailSchema,
    answer: {
      status: 202,
      description:
        'The email is stored. With `dry_run`, of more than 20,000 members: it goes on, and its result is kept for a day',
      schema: answers.acceptedOrDryRun,
      headers: REPLAYED,
    },
    at_once: { description: 'The result of a dry run', schema: answers.dryRunAnswer },
    problems: ['idempotency-key-reused'],
  },
  getDryRun: {
    key: 'GET /v1/emails/{email_id}/dry-run',
    summary: 'Show the dry run of many members: its result, or how far it has come',
    scope: 'newsletters:read',
    answer: { status: 200, description: 'The dry run', schema: answers.dryRunAnswer },
    problems: ['not-found'],
  },
  replaceEmail: {
    ...WRITE,
    key: 'PUT /v1/emails/{email_id}',
    summary: 'Replace an email that has not started',
    body: emails.replaceSchema,
    answer: { status: 202, description: 'It is replaced', schema: answers.acceptedEmail },
    problems: ['not-found', 'conflict'],
  },
  previewDraft: {
    ...WRITE,
    key: 'POST /v1/emails/preview',
    summary: 'Show the mail of what is not published as a member would get it; nothing is kept',
    idempotency: NOT_REMEMBERED,
    body: emails.previewSchema,
    answer: { status: 200, description: 'The mail', schema: answers.mailPreview },
    problems: ['not-found'],
  },
  previewEmail: {
    key: 'POST /v1/emails/{email_id}/preview',
    summary: 'Show the mail of an email, scheduled or sent, as a member gets it, or got it; nothing is kept',
    scope: 'newsletters:write',
    idempotency: NOT_REMEMBERED,
    body: emails.emailPreviewSchema,
    answer: { status: 200, description: 'The mail', schema: answers.mailPreview },
    problems: ['not-found'],
  },
  testDraft: {
    ...WRITE,
    key: 'POST /v1/emails/test',
    summary: 'Send what is not published to up to 10 addresses with sample values; nothing is kept',
    idempotency: NOT_REMEMBERED,
    body: emails.draftTestSchema,
    answer: { status: 200, description: 'One result per address', schema: answers.testResults },
  },
  testEmail: {
    key: 'POST /v1/emails/{email_id}/test',
    summary: 'Send the email to up to 10 addresses with sample values, and count none',
    scope: 'newsletters:write',
    idempotency: NOT_REMEMBERED,
    body: emails.testSchema,
    answer: { status: 200, description: 'One result per address', schema: answers.testResults },
    problems: ['not-found', 'conflict'],
  },
  getEmail: {
    key: 'GET /v1/emails/{email_id}',
    summary: 'Show how far an email is',
    scope: 'newsletters:read',
    answer: { status: 200, description: 'The email', schema: answers.emailState },
    problems: ['not-found'],
  },
  listBatches: {
    key: 'GET /v1/emails/{email_id}/batches',
    summary: 'List the batches of an email, the excluded recipients last',
    scope: 'newsletters:read',
    query: emails.batchListQuery,
    answer: { status: 200, description: 'Batches', schema: answers.emailBatchList },
    problems: ['not-found'],
  },
  listRecipients: {
    key: 'GET /v1/emails/{email_id}/recipients',
    summary:
      'List the recipients of an email. A page may be empty and yet have a next one; it may exceed the limit by 49',
    scope: 'newsletters:read',
    query: emails.recipientListQuery,
    answer: { status: 200, description: 'Recipients', schema: answers.recipientList },
    problems: ['not-found'],
  },
  retryEmail: decision('POST /v1/emails/{email_id}/retry', 'Send what a failed email has not submitted'),
  pauseEmail: decision('POST /v1/emails/{email_id}/pause', 'Stop giving out batches'),
  resumeEmail: decision('POST /v1/emails/{email_id}/resume', 'Go on with a paused email'),
  cancelEmail: decision(
    'POST /v1/emails/{email_id}/cancel',
    'End an email: whoever has not been sent to is excluded, with the reason `cancelled`',
  ),
  resolveEmail: {
    key: 'POST /v1/emails/{email_id}/resolve',
    summary: 'Decide about the uncertain recipients: send again, or leave it at that',
    scope: 'newsletters:write',
    idempotency: NOT_REMEMBERED,
    body: emails.resolveSchema,
    answer: { status: 202, description: 'It is decided', schema: answers.resolvedEmail },
    problems: ['not-found', 'conflict'],
  },
} as const satisfies ApiRoutes;
