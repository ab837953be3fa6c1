import { shownDryRun } from '../../core/newsletter/lifecycle/dry-run.ts';
import { shownResolved } from '../../core/newsletter/views/email-view.ts';
import type { Decided } from '../../core/operator/audit.ts';
import { EMAIL_ACTIONS } from '../contract/choices.ts';
import { acceptedEmail, dryRunAnswer, emailList, resolvedEmail, testResults } from '../contract/emails.ts';
import { decisionBody } from '../contract/fields.ts';
import {
  draftBody,
  draftPreviewBody,
  draftTestBody,
  emailDetail,
  emailsQuery,
  mailPreview,
  newsletter,
  newsletterBody,
  newsletterList,
  newslettersQuery,
  previewBody,
  recipientPage,
  recipientsQuery,
  replaceBody,
  resolveBody,
  writtenEmail,
} from '../contract/newsletters.ts';
import type { Published } from '../emails/drafts.ts';
import { emailAccess } from '../emails/email-access.ts';
import {
  decideEmail,
  emailForPage,
  listEmails,
  pageOfRecipients,
  requireEmail,
  resolveUncertain,
} from '../emails/emails.ts';
import type { MailPreview } from '../emails/preview.ts';
import { decideNewsletter, listAllNewsletters, newsletterDeps } from '../newsletters.ts';
import { decision, list, question, type RouteDeps, show } from '../route.ts';
import { MEMBER_ROUTES } from './members.ts';

const ACTS = {
  retry: 'Sends what was not submitted',
  pause: 'Pauses an e-mail',
  resume: 'Goes on with an e-mail',
  cancel: 'Cancels an e-mail before it is sent',
} as const;

/** SES, the renderer and the parser of segments are loaded with the first draft. */
async function drafts(deps: RouteDeps) {
  const { draftAccess } = await import('../emails/draft-access.ts');
  return { ...(await import('../emails/drafts.ts')), access: draftAccess(deps) };
}
async function previews(deps: RouteDeps) {
  return { ...(await drafts(deps)), ...(await import('../emails/preview.ts')) };
}
async function framed({ answer: { html, ...mail } }: Pick<Decided<MailPreview>, 'answer'>) {
  const { framedMail } = await import('../../adapters/post/mail-frame.ts');
  return { ...mail, frame: framedMail(html) };
}
/** The longest post as JSON. */
const max_bytes = 1024 * 1024;

const accepted = ({
  answer: { email_id, status, warnings },
}: Decided<Pick<Published, 'email_id' | 'status' | 'warnings'>>) => ({
  email_id,
  status,
  ...(warnings && { warnings }),
});

/** Newsletters, and their emails with live counts, recipients by state, and what operators decide about them. */
export const NEWSLETTER_ROUTES = [
  list('GET /api/newsletters', newslettersQuery, {
    operation_id: 'listNewsletters',
    summary: 'Newsletters of a tenant, or of all',
    answer: newsletterList,
    command: ['newsletters list --tenant TENANT'],
    async handle({ input: { tenant, cursor } }, deps) {
      if (tenant !== undefined)
        return { newsletters: await emailAccess(deps).newsletters.list(tenant), next_cursor: null };
      return listAllNewsletters(cursor, deps);
    },
  }),
  decision('POST /api/newsletters', newsletterBody, {
    operation_id: 'putNewsletter',
    summary: 'Makes a newsletter, or replaces the one that somebody looked at',
    answer: newsletter,
    command: ['newsletters create ID --tenant TENANT --name NAME --from ADDRESS'],
    decide: ({ input: { request_id: _, tenant, newsletter_id, known_at, ...fields } }, deps) =>
      decideNewsletter({ tenant, newsletter_id, known_at }, fields, newsletterDeps(deps)),
  }),
  list('GET /api/emails', emailsQuery, {
    operation_id: 'listEmails',
    summary: 'E-mails of a tenant, newest first',
    answer: emailList,
    command: ['emails list --tenant TENANT'],
    handle: ({ input }, deps) => listEmails(input, emailAccess(deps), { rates: true }),
  }),
  show('GET /api/emails/{email_id}', {
    operation_id: 'getEmail',
    summary: 'An e-mail with its counts and progress',
    answer: emailDetail,
    command: ['emails status', 'email_id'],
    handle: ({ path }, deps) => emailForPage(path.email_id, emailAccess(deps)),
  }),
  list('GET /api/emails/{email_id}/recipients', recipientsQuery, {
    operation_id: 'listRecipients',
    summary: 'Recipients of an e-mail by state, without addresses',
    answer: recipientPage,
    command: ['emails recipients', 'email_id'],
    handle: ({ input, path }, deps) =>
      pageOfRecipients(path.email_id, { ...input, identities: false }, emailAccess(deps)),
  }),
  ...MEMBER_ROUTES,
  ...EMAIL_ACTIONS.map((action) =>
    decision(`POST /api/emails/{email_id}/${action}`, decisionBody, {
      operation_id: `${action}Email`,
      summary: ACTS[action],
      answer: acceptedEmail,
      command: [`emails ${action}`, 'email_id'],
      decide: ({ path }, deps) => decideEmail(path.email_id, action, emailAccess(deps)),
      show: accepted,
    }),
  ),
  question('POST /api/emails/dry-run', draftBody, {
    operation_id: 'dryRunEmail',
    summary: 'Says who would get an e-mail, in which rendering, and who would not and why; keeps and sends nothing',
    max_bytes,
    answer: dryRunAnswer,
    command: ['emails send FILE --tenant TENANT --newsletter ID --dry-run'],
    async handle({ input: { request_id, tenant, ...request } }, deps) {
      const { access, draftOfPage, dryRunOf } = await drafts(deps);
      return shownDryRun(await dryRunOf(draftOfPage(tenant, request_id, request), access));
    },
  }),
  show('GET /api/emails/{email_id}/dry-run', {
    operation_id: 'getDryRun',
    summary: 'The dry run of many members: its result, or how far it has come',
    answer: dryRunAnswer,
    command: ['emails list --tenant TENANT'],
    async handle({ path }, deps) {
      const { access, keptDryRun } = await drafts(deps);
      return shownDryRun(await keptDryRun(path.email_id, access));
    },
  }),
  decision('POST /api/emails/test', draftTestBody, {
    operation_id: 'testEmail',
    summary: 'Sends what is not published to up to 10 addresses with sample values',
    max_bytes,
    answer: testResults,
    command: ['emails test FILE --tenant TENANT --newsletter ID --to ADDRESS'],
    async decide({ input: { request_id, tenant, to, ...request } }, deps) {
      const { access, draftEmail, draftOfPage, sendTest } = await drafts(deps);
      const draft = await draftEmail(draftOfPage(tenant, request_id, request), access);
      return sendTest({ ...draft, to }, access);
    },
    show: ({ answer }) => ({ results: answer }),
  }),
  decision('POST /api/emails', draftBody, {
    operation_id: 'publishEmail',
    summary: 'Sends an e-mail to members, at once or at its time',
    max_bytes,
    answer: acceptedEmail,
    command: ['emails send FILE --tenant TENANT --newsletter ID'],
    async decide({ input: { request_id, tenant, ...request } }, deps) {
      const { access, draftOfPage, publicationOf, publish } = await drafts(deps);
      return publish(await publicationOf(draftOfPage(tenant, request_id, request), access), access);
    },
    show: accepted,
  }),
  show('GET /api/emails/{email_id}/draft', {
    operation_id: 'getDraft',
    summary: 'An e-mail as it was written',
    answer: writtenEmail,
    command: ['emails status', 'email_id'],
    async handle({ path }, deps) {
      const { access, storedEmail } = await drafts(deps);
      const { email, content } = await storedEmail(path.email_id, access);
      const { newsletter, ...post } = content;
      const { segment, scheduled_at, delivery_window_minutes, created_at, replaced_at: known_at = created_at } = email;
      const { newsletter_id } = newsletter;
      return { newsletter_id, ...post, segment, scheduled_at, delivery_window_minutes, known_at };
    },
  }),
  decision('POST /api/emails/preview', draftPreviewBody, {
    operation_id: 'previewDraft',
    summary: 'The mail that is being written, as a member would get it or with sample values; keeps and sends nothing',
    max_bytes,
    answer: mailPreview,
    command: ['emails preview FILE --tenant TENANT --newsletter ID'],
    async decide({ input: { request_id: _, tenant, member_id, ...request } }, deps) {
      const { access, previewOf, previewedDraft } = await previews(deps);
      return previewOf(await previewedDraft(tenant, request, access), member_id, access);
    },
    show: framed,
  }),
  show('GET /api/emails/{email_id}/preview', {
    operation_id: 'previewEmail',
    summary: 'The mail of an e-mail with sample values, in all its parts',
    answer: mailPreview,
    command: ['emails preview', 'email_id'],
    async handle({ path }, deps) {
      const { access, previewOf, storedEmail } = await previews(deps);
      const { run } = await previewOf(await storedEmail(path.email_id, access), undefined, access);
      return framed(await run());
    },
  }),
  decision('POST /api/emails/{email_id}/preview', previewBody, {
    operation_id: 'previewEmailOfMember',
    summary: 'The mail of an e-mail as a member got it, or would get it; the audit log keeps who saw the values',
    answer: mailPreview,
    command: ['emails preview', 'email_id'],
    async decide({ path, input: { member_id } }, deps) {
      const { access, previewOf, storedEmail } = await previews(deps);
      return previewOf(await storedEmail(path.email_id, access), member_id, access);
    },
    show: framed,
  }),
  decision('POST /api/emails/{email_id}/replace', replaceBody, {
    operation_id: 'replaceEmail',
    summary: 'Replaces an e-mail that has not started',
    max_bytes,
    answer: acceptedEmail,
    command: ['emails replace', 'email_id'],
    async decide({ path, input: { request_id: _, known_at, ...request } }, deps) {
      const { access, replaceBy } = await drafts(deps);
      return replaceBy(await requireEmail(path.email_id, access), request, access, known_at);
    },
    show: accepted,
  }),
  decision('POST /api/emails/{email_id}/resolve', resolveBody, {
    operation_id: 'resolveEmail',
    summary: 'Decides about the uncertain recipients: to send again, or to leave them',
    answer: resolvedEmail,
    command: ['emails status', 'email_id'],
    decide: ({ path, input }, deps) => resolveUncertain(path.email_id, input.action, emailAccess(deps)),
    show: ({ answer: { email_id, status, ...reached } }) => ({ email_id, status, ...shownResolved(reached) }),
  }),
];
