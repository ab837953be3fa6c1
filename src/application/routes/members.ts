import { placeAt } from '../../core/newsletter/audience/candidates.ts';
import { UnreadableChunkError } from '../../core/newsletter/model/batch.ts';
import type { Email } from '../../core/newsletter/model/email.ts';
import { hasUnsubscribed, type StoredMember } from '../../core/newsletter/model/member.ts';
import { beginOf } from '../../core/newsletter/sending/exclusion-checks.ts';
import { findRecipient } from '../../core/newsletter/views/list-recipients.ts';
import {
  importBody,
  importedMembers,
  importPreviewBody,
  memberBody,
  memberDetail,
  memberEmails,
  memberEmailsQuery,
  memberList,
  memberQuery,
  membersQuery,
  shownMembers,
} from '../contract/newsletters.ts';
import { emailPlace, fromCursor, toCursor } from '../cursor.ts';
import { emailAccess } from '../emails/email-access.ts';
import type { EmailAccess } from '../emails/emails.ts';
import {
  listMembers,
  type MemberAccess,
  memberAccess,
  memberForPage as readMember,
  requireMember,
  showMembers,
} from '../members/members.ts';
import { decision, list, question } from '../route.ts';

/** The longest file as JSON. */
const max_bytes = 1024 * 1024;

/** Members of newsletters: what became of each in the mailings; and who they are, for operators. */
export const MEMBER_ROUTES = [
  list('GET /api/members', membersQuery, {
    operation_id: 'listMembers',
    summary: 'Members by newsletter and by where they stand with it, without addresses; a page may be empty',
    answer: memberList,
    command: ['members export FILE.csv --tenant TENANT'],
    handle: ({ input }, deps) => listMembers(input, memberAccess(deps)),
  }),
  question('POST /api/members/import-preview', importPreviewBody, {
    operation_id: 'previewImport',
    summary: 'Says what an import of a file would do, and which lines are bad; stores nothing',
    max_bytes,
    answer: importedMembers,
    command: ['members import FILE.csv --tenant TENANT --newsletter ID'],
    async handle({ input }, deps) {
      const { previewFile } = await import('../members/import-file.ts');
      return previewFile(input, memberAccess(deps));
    },
  }),
  decision('POST /api/members/import', importBody, {
    operation_id: 'importMembers',
    summary: 'Adds or changes members from a file, as many as a request may take; the next one goes on',
    max_bytes,
    answer: importedMembers,
    command: ['members import FILE.csv --tenant TENANT --newsletter ID'],
    async decide({ input }, deps) {
      const { importFile } = await import('../members/import-file.ts');
      return importFile(input, memberAccess(deps));
    },
  }),
  list('GET /api/members/{member_id}', memberQuery, {
    operation_id: 'getMember',
    summary: 'A member without address and name',
    answer: memberDetail,
    command: ['members show ID --tenant TENANT'],
    handle: ({ input: { tenant }, path }, deps) => readMember(tenant, path.member_id, memberAccess(deps)),
  }),
  list('GET /api/members/{member_id}/emails', memberEmailsQuery, {
    operation_id: 'listEmailsOfMember',
    summary: 'What became of a member in each e-mail, newest first; a page may be empty and not the last one',
    answer: memberEmails,
    command: ['emails recipients ID'],
    async handle({ input: { tenant, cursor }, path }, deps) {
      const after = fromCursor(emailPlace, cursor);
      const wanted = { tenant, ...path, ...(after !== undefined && { after }) };
      const { emails, next } = await emailsOfMember(wanted, memberAccess(deps), emailAccess(deps));
      return { emails, next_cursor: toCursor(next) };
    },
  }),
  decision('POST /api/members/show', memberBody, {
    operation_id: 'showMembers',
    summary:
      'Shows a member, or those of an address, by address and name, and what is known of it; the audit log keeps who saw',
    answer: shownMembers,
    command: ['members show ID --tenant TENANT'],
    decide({ input: { tenant, member_id, address = '' } }, deps) {
      const named = member_id === undefined ? { tenant, address } : { tenant, member_id };
      return showMembers(named, memberAccess(deps));
    },
    show: ({ answer: { members, ...known } }) => ({
      ...known,
      members: members.map(({ member_id, email, name }) => ({
        member_id,
        email,
        ...(name !== undefined && { name }),
      })),
    }),
  }),
] as const;

/** Emails of a page: to find a member among the recipients of one takes some ten reads, thirty of a million. */
const SEARCHED = 10;

/** The emails of a tenant that froze a member, newest first, with what became of it. @throws Problem not-found */
async function emailsOfMember(
  { tenant, member_id, after }: { readonly tenant: string; readonly member_id: string; readonly after?: string },
  access: MemberAccess,
  { emails, ...rows }: EmailAccess,
) {
  const member = await requireMember(tenant, member_id, access);
  const [page, facts] = await Promise.all([
    emails.list(tenant, after),
    access.members.facts(tenant, [member.email_hash]),
  ]);
  const mayHaveFrozen = mayHave(member, facts.get(member.email_hash));
  const searched = page.emails.slice(0, SEARCHED);
  const last = page.emails.length > SEARCHED ? searched.at(-1) : undefined;
  const hashOf = (address: string) => access.sealing.emailHash(tenant, address);
  const found = await Promise.all(
    searched.map(async (sent) => {
      const { email_id, newsletter_id, subject, created_at, prepared } = sent;
      if (prepared === undefined) return [];
      const email = { email_id, newsletter_id, ...(subject !== undefined && { subject }), created_at };
      const email_hash = placeAt(beginOf(sent), member);
      const recipient = await findRecipient(email_id, { member_id, email_hash }, { ...rows, hashOf }).catch(unreadable);
      if (recipient === undefined) return [];
      // Only for emails whose recipients cannot be read any more: the others show whether the member was among them.
      if (!('events' in recipient)) return mayHaveFrozen(sent) ? [{ ...email, ...recipient, events: [] }] : [];
      const { state, events, reason, processed_at } = recipient;
      return [{ ...email, state, events, ...(reason && { reason }), ...(processed_at && { processed_at }) }];
    }),
  );
  return { emails: found.flat(), next: last ? `${last.created_at} ${last.email_id}` : page.next_cursor };
}

/** One email whose recipients were altered must not hide the others of the member. */
function unreadable(error: unknown) {
  if (error instanceof UnreadableChunkError) return { state: 'unreadable', reason: error.message } as const;
  throw error;
}

/** Whether the member was there when an email was prepared, and has its newsletter or has left it. */
function mayHave({ created_at, newsletters }: Joined, facts: Parameters<typeof hasUnsubscribed>[0]) {
  return ({ newsletter_id, prepared }: Pick<Email, 'newsletter_id' | 'prepared'>) =>
    prepared !== undefined &&
    prepared.at >= created_at &&
    (newsletters.includes(newsletter_id) || hasUnsubscribed(facts, newsletter_id));
}

type Joined = Pick<StoredMember, 'created_at' | 'newsletters'>;
