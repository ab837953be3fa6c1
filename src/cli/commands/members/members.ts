import type { Command } from 'commander';
import { memberAccess, type NamedAddress, showMembers, suppressAddress } from '../../../operator-service/members.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { type CliContext, faultInOptions, onDeployment, type Session } from '../../session/session.ts';

interface MemberOptions {
  readonly tenant: string;
  readonly email?: string;
}

const inOptions = (error: unknown) => faultInOptions(error, { email: '--email' });

/** The address that a command names, by a member's id or by the address itself. @throws OperatorError */
async function named(
  { terminal }: Session,
  member_id: string | undefined,
  { tenant, email }: MemberOptions,
): Promise<NamedAddress> {
  if ((member_id === undefined) === (email === undefined)) {
    throw new OperatorError('Name a member by its ID or by --email, one of the two.', EXIT_USAGE);
  }
  if (member_id !== undefined) return { tenant, member_id };
  return { tenant, address: email === '-' ? await terminal.readInput() : (email ?? '') };
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
  const shown = await showMembers(await named(session, id, options), memberAccess(session), session.decide).catch(
    inOptions,
  );
  const { members: found, suppressed, unsubscribed } = shown;
  printResult(session, shown, () =>
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
  const address = await named(session, id, options);
  const changed = await suppressAddress(address, name, memberAccess(session), session.decide).catch(inOptions);
  const { suppressed } = changed;
  printResult(session, changed, () =>
    suppressed === null
      ? 'The address gets newsletters again. SES keeps a suppression list of its own: see the runbook.\n'
      : `The address gets no newsletter: ${suppressed.reason} at ${suppressed.at}.\n`,
  );
  return 0;
}
