import type { Command } from 'commander';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { memberAccess } from '../../session/member-access.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { addressHash, type MemberOptions } from './find-member.ts';

export function addMembersSuppress(members: Command, context: CliContext): void {
  add(members, context, 'suppress', 'send no newsletter to an address any more');
}

export function addMembersUnsuppress(members: Command, context: CliContext): void {
  add(
    members,
    context,
    'unsuppress',
    'send newsletters to an address again that bounced, complained or was suppressed',
  );
}

function add(members: Command, context: CliContext, name: 'suppress' | 'unsuppress', description: string): void {
  const command = members
    .command(name)
    .argument('[ID]', 'the member_id')
    .requiredOption('--tenant <ID>', 'the tenant of the member', parseId)
    .option('--email <ADDRESS>', 'the address, also of somebody who is no member; "-" reads it from stdin')
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run ops -- members ${name} m-17 --tenant TENANT001`);
  onDeployment<MemberOptions>(command, context, (session, options, [id]) => change(session, name, id, options));
}

async function change(
  session: Session,
  name: 'suppress' | 'unsuppress',
  id: string | undefined,
  options: MemberOptions,
): Promise<number> {
  const access = memberAccess(session);
  const hash = await addressHash(session, access, id, options);
  const { tenant } = options;
  if (name === 'suppress') {
    await access.members.suppress(tenant, hash, { reason: 'operator', at: session.clock().toISOString() });
  } else await access.members.unsuppress(tenant, hash);
  const suppressed = (await access.members.facts(tenant, [hash])).get(hash)?.suppressed;
  printResult(session, { suppressed: suppressed ?? null }, () =>
    suppressed === undefined
      ? 'The address gets newsletters again. SES keeps a suppression list of its own: see the runbook.\n'
      : `The address gets no newsletter: ${suppressed.reason} at ${suppressed.at}.\n`,
  );
  return 0;
}
