import type { Command } from 'commander';
import { createNewsletterStore } from '../../../adapters/dynamodb/newsletter/newsletter-store.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import { decideNewsletter, decideSender, listSenders } from '../../../operator-service/members.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields, table } from '../../../terminal/table.ts';
import {
  type CliContext,
  faultInOptions,
  newsletterNotFound,
  onDeployment,
  type Session,
  sayNext,
} from '../../session/session.ts';

interface CreateOptions {
  readonly tenant: string;
  readonly name: string;
  readonly from: string;
  readonly replyTo?: string;
  readonly sendingDomain?: string;
  readonly fallbackDomain?: string;
  readonly opens: boolean;
  readonly clicks: boolean;
}

const storeOf = ({ dynamodb, deployment }: Session) => createNewsletterStore(dynamodb, deployment.tables.newsletters);

export function addNewslettersCreate(newsletters: Command, context: CliContext): void {
  const command = newsletters
    .command('create')
    .argument('<ID>', 'its id, such as weekly')
    .requiredOption('--tenant <ID>', 'the tenant who publishes it', parseId)
    .requiredOption('--name <NAME>', 'its name, which the page of the unsubscribe link shows')
    .requiredOption('--from <SENDER>', 'who it is from, such as "Weekly <news@example.com>"; verified in SES')
    .option('--reply-to <ADDRESS>', 'who gets the replies')
    .option('--sending-domain <DOMAIN>', 'replaces the domain of --from while its warming allows it')
    .option('--fallback-domain <DOMAIN>', 'for mails beyond the warming of the sending domain')
    .option('--no-opens', 'no pixel in its mails: opens are not counted')
    .option('--no-clicks', 'links as they were written: clicks are not counted')
    .description('make or replace a newsletter')
    .addHelpText(
      'after',
      '\nExample:\n  npm run ops -- newsletters create weekly --tenant TENANT001 --name Weekly --from "Weekly <news@example.com>"',
    );
  onDeployment<CreateOptions>(command, context, (session, options, [id = '']) => create(session, id, options));
}

async function create(session: Session, newsletter_id: string, options: CreateOptions): Promise<number> {
  const { tenant, name, from, replyTo, sendingDomain, fallbackDomain, opens, clicks } = options;
  const given = {
    name,
    from,
    reply_to: replyTo,
    sending_domain: sendingDomain,
    fallback_domain: fallbackDomain,
    ...((!opens || !clicks) && { track: { opens, clicks } }),
  };
  const asked = { tenant, newsletter_id };
  const answer = await decideNewsletter(asked, given, session, session.decide).catch((error: unknown) =>
    faultInOptions(error, {
      '': 'The id',
      name: '--name',
      from: '--from',
      reply_to: '--reply-to',
      sending_domain: '--sending-domain',
      fallback_domain: '--fallback-domain',
    }),
  );
  printResult(session, shown(answer), () => `${newsletter_id} is stored: ${answer.name}, from ${answer.from}.\n`);
  sayNext('Import its members', `members import FILE.csv --tenant ${tenant} --newsletter ${newsletter_id}`, session);
  return 0;
}

function shown({ tenant_id: _, ...newsletter }: Newsletter) {
  return newsletter;
}

export function addNewslettersList(newsletters: Command, context: CliContext): void {
  const command = newsletters
    .command('list')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .description("list a tenant's newsletters");
  onDeployment<{ readonly tenant: string }>(command, context, async (session, { tenant }) => {
    const found = await storeOf(session).list(tenant);
    printResult(session, found.map(shown), () =>
      found.length === 0
        ? `${tenant} has no newsletters: newsletters create makes one.\n`
        : table<Newsletter>(
            [
              { title: 'newsletter', of: ({ newsletter_id }) => newsletter_id },
              { title: 'name', of: ({ name }) => name },
              { title: 'from', of: ({ from }) => from },
              { title: 'tracked', of: (one) => tracked(one) },
            ],
            found,
            session.terminal.colors,
          ),
    );
    return 0;
  });
}

function tracked({ track = { opens: true, clicks: true } }: Newsletter): string {
  const kinds = [...(track.opens ? ['opens'] : []), ...(track.clicks ? ['clicks'] : [])];
  return kinds.join(', ') || 'nothing';
}

export function addNewslettersShow(newsletters: Command, context: CliContext): void {
  const command = newsletters
    .command('show')
    .argument('<ID>', 'the newsletter')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .description('show a newsletter');
  onDeployment<{ readonly tenant: string }>(command, context, async (session, { tenant }, [id = '']) => {
    const found = await storeOf(session).read(tenant, id);
    if (found === undefined) throw newsletterNotFound(tenant, id, session);
    const { track: _, ...rest } = shown(found);
    printResult(session, shown(found), () => {
      const lines = [...Object.entries(rest), ['tracked', tracked(found)] as const];
      return fields(
        lines.map(([name, value]): [string, string] => [name, String(value)]),
        session.terminal.colors,
      );
    });
    return 0;
  });
}

interface SenderOptions {
  readonly tenant: string;
  readonly backToStage?: boolean;
}

/** As whom the newsletters of a tenant may be sent. */
export function addSenders(program: Command, context: CliContext): void {
  const senders = program
    .command('senders')
    .description('as whom the newsletters of a tenant may be sent')
    .usage('<command> [options]');
  addDecision(
    senders,
    context,
    'allow',
    'let a tenant write as an address, or as all of a domain; from the first one on as no other',
  );
  addDecision(
    senders,
    context,
    'revoke',
    'let a tenant write as an address no more, while it has another; mailings that are published go on',
  );
  const list = senders
    .command('list')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .description('list the addresses and domains of a tenant');
  onDeployment<SenderOptions>(list, context, async (session, { tenant }) =>
    printSenders(tenant, await listSenders(tenant, session), session),
  );
}

function addDecision(senders: Command, context: CliContext, action: 'allow' | 'revoke', description: string): void {
  const command = senders
    .command(action)
    .argument('<SENDER>', 'an address, or *@domain (quote it for the shell)')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run ops -- senders ${action} '*@example.com' --tenant TENANT001`);
  if (action === 'revoke') command.option('--back-to-stage', 'revoke the last one, too: then those of the stage count');
  onDeployment<SenderOptions>(command, context, async (session, { tenant, backToStage }, [sender = '']) => {
    const asked = { tenant, sender, action: backToStage === true ? 'back-to-stage' : action } as const;
    const left = await decideSender(asked, session, session.decide).catch((error: unknown) =>
      faultInOptions(error, { sender: 'SENDER' }),
    );
    return printSenders(tenant, left, session);
  });
}

function printSenders(tenant_id: string, senders: readonly string[], session: Session): number {
  printResult(session, { tenant_id, senders }, () =>
    senders.length === 0
      ? `${tenant_id} has no senders of its own: it writes as those of the stage (newsletter.senders).\n`
      : `${senders.join('\n')}\n`,
  );
  return 0;
}
