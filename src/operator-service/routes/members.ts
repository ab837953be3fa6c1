import {
  memberBody,
  memberDetail,
  memberEmails,
  memberEmailsQuery,
  memberQuery,
  shownMembers,
} from '../contract/newsletters.ts';
import { emailPlace, fromCursor, toCursor } from '../cursor.ts';
import { emailAccess } from '../emails.ts';
import { emailsOfMember } from '../members/emails-of-member.ts';
import { memberAccess, memberForPage as readMember, showMembers } from '../members/members.ts';
import { decision, list } from '../route.ts';

/** Members of newsletters: what became of each in the mailings; and who they are, for operators. */
export const MEMBER_ROUTES = [
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
    async handle({ input: { tenant, member_id, address = '' }, decide }, deps) {
      const named = member_id === undefined ? { tenant, address } : { tenant, member_id };
      const { members, ...known } = await showMembers(named, memberAccess(deps), decide);
      return {
        ...known,
        members: members.map(({ member_id, email, name }) => ({
          member_id,
          email,
          ...(name !== undefined && { name }),
        })),
      };
    },
  }),
] as const;
