import { memberAccess, type NamedAddress, showMembers, suppressAddress } from '../../../application/members/members.ts';
import { newslettersSentTo } from '../../../core/newsletter/model/member.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { faultInOptions, onDeployment, type Session } from '../../session/session.ts';

const inOptions = (error: unknown) => faultInOptions(error, { email: '--email' });

const MEMBER = { '[ID]': 'the member_id' };
const TENANT = required(value('the tenant of the member', parseId));

/** The address that a command names, by a member's id or by the address itself. @throws OperatorError */
async function named(
  { terminal }: Session,
  member_id: string | undefined,
  { tenant, email }: { readonly tenant: string; readonly email?: string },
): Promise<NamedAddress> {
  if ((member_id === undefined) === (email === undefined)) {
    throw new OperatorError('Name a member by its ID or by --email, one of the two.', EXIT_USAGE);
  }
  if (member_id !== undefined) return { tenant, member_id };
  return { tenant, address: email === '-' ? await terminal.readInput() : (email ?? '') };
}

export const addMembersShow = onDeployment({
  name: 'show',
  says: 'show a member, or all members with an address, and what is known about the address',
  args: MEMBER,
  options: { '--tenant <ID>': TENANT, '--email <ADDRESS>': 'all members of this address; "-" reads it from stdin' },
  help: '\nExample:\n  npm run ops -- members show m-17 --tenant TENANT001',
  async run(session, options, [id]) {
    const address = await named(session, id, options);
    const shown = await session.decide(showMembers(address, memberAccess(session))).catch(inOptions);
    const { members: found, suppressed, unsubscribed } = shown;
    printResult(session, shown, () =>
      [
        ...found.flatMap((member) => [
          `${member.member_id}  ${member.email}${'name' in member ? `  ${member.name}` : ''}`,
          `  status ${member.status}, labels ${member.labels.join(', ') || 'none'}, since ${member.created_at}`,
          `  gets ${newslettersSentTo(member, shown).join(', ') || 'no newsletter'}`,
        ]),
        ...Object.entries(unsubscribed).map(([newsletter, at]) => `unsubscribed from ${newsletter} at ${at}`),
        ...(suppressed
          ? [`suppressed (${suppressed.reason}) at ${suppressed.at}: the address gets no newsletter`]
          : []),
        '',
      ].join('\n'),
    );
  },
});

export const addMembersSuppress = suppression('suppress', 'stop sending newsletters to an address');
export const addMembersUnsuppress = suppression(
  'unsuppress',
  'send newsletters again to an address that bounced, complained or was suppressed',
);

function suppression(name: 'suppress' | 'unsuppress', says: string) {
  return onDeployment({
    name,
    says,
    args: MEMBER,
    options: {
      '--tenant <ID>': TENANT,
      '--email <ADDRESS>': 'the address, also of somebody who is no member; "-" reads it from stdin',
    },
    help: `\nExample:\n  npm run ops -- members ${name} m-17 --tenant TENANT001`,
    async run(session, options, [id]) {
      const address = await named(session, id, options);
      const changed = await session.decide(suppressAddress(address, name, memberAccess(session))).catch(inOptions);
      const { suppressed } = changed;
      printResult(session, changed, () =>
        suppressed === null
          ? 'The address gets newsletters again. SES keeps a suppression list of its own: see the runbook.\n'
          : `The address gets no newsletter: ${suppressed.reason} at ${suppressed.at}.\n`,
      );
    },
  });
}
