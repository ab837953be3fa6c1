import type { Command } from 'commander';
import { OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { memberAccess } from '../../session/member-access.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { addressHash, type MemberOptions } from './find-member.ts';

export function addMembersShow(members: Command, context: CliContext): void {
  const command = members
    .command('show')
    .argument('[ID]', 'the member_id')
    .requiredOption('--tenant <ID>', 'the tenant of the member', parseId)
    .option('--email <ADDRESS>', 'all members of this address; "-" reads it from stdin')
    .description('show members of an address, and what is known of the address')
    .addHelpText('after', '\nExample:\n  npm run ops -- members show m-17 --tenant TENANT001');
  onDeployment<MemberOptions>(command, context, (session, options, [id]) => show(session, id, options));
}

async function show(session: Session, id: string | undefined, options: MemberOptions): Promise<number> {
  const access = memberAccess(session);
  const hash = await addressHash(session, access, id, options);
  const entry = await access.members.address(options.tenant, hash);
  if (entry === undefined) throw new OperatorError(`${options.tenant} knows nothing of this address.`);
  const chosen = entry.members.filter(({ member_id }) => id === undefined || member_id === id);
  const found = await Promise.all(
    chosen.map(async ({ email_hash: _, sealed_identity: __, tenant_id: ___, ...member }, i) => {
      const stored = chosen[i];
      return { ...member, ...(stored && (await access.sealing.openMember(stored))) };
    }),
  );
  const { suppressed, unsubscribed = {} } = entry.facts ?? {};
  printResult(session, { members: found, ...(suppressed && { suppressed }), unsubscribed }, () =>
    [
      ...found.flatMap((member) => [
        `${member.member_id}  ${member.email}${'name' in member ? `  ${member.name}` : ''}`,
        `  status ${member.status}, labels ${member.labels.join(', ') || 'none'}, since ${member.created_at}`,
        `  subscribes to ${member.newsletters.join(', ') || 'nothing'}`,
      ]),
      ...Object.entries(unsubscribed).map(([newsletter, at]) => `unsubscribed from ${newsletter} at ${at}`),
      ...(suppressed ? [`suppressed (${suppressed.reason}) at ${suppressed.at}: the address gets no newsletter`] : []),
      '',
    ].join('\n'),
  );
  return 0;
}
