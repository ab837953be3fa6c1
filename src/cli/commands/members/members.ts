import type { Command } from 'commander';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { type MemberAccess, memberAccess } from '../../session/member-access.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface MemberOptions {
  readonly tenant: string;
  readonly email?: string;
}

/** The hash of the address that a command names, by a member's id or by the address itself. */
async function addressHash(
  session: Session,
  { members, sealing }: MemberAccess,
  member_id: string | undefined,
  { tenant, email }: MemberOptions,
): Promise<string> {
  if ((member_id === undefined) === (email === undefined)) {
    throw new OperatorError('Name a member by its ID or by --email, one of the two.', EXIT_USAGE);
  }
  if (member_id !== undefined) {
    const member = await members.read(tenant, member_id);
    if (member === undefined) throw new OperatorError(`${tenant} has no member ${member_id}: look by --email.`);
    return member.email_hash;
  }
  const address = sealing.mailbox(email === '-' ? await session.terminal.readInput() : (email ?? ''));
  if (address === undefined)
    throw new OperatorError('--email must be one address, such as name@example.com.', EXIT_USAGE);
  return sealing.emailHash(tenant, address);
}

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
