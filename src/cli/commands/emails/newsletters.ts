import type { Command } from 'commander';
import type * as v from 'valibot';
import { newsletterId, newsletterSchema } from '../../../adapters/api/newsletter-schemas.ts';
import { createNewsletterStore } from '../../../adapters/dynamodb/newsletter/newsletter-store.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import { check } from '../../../http/check.ts';
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

function checked(id: string, { name, from, replyTo, sendingDomain, fallbackDomain, opens, clicks }: CreateOptions) {
  const given = {
    name,
    from,
    ...(replyTo !== undefined && { reply_to: replyTo }),
    ...(sendingDomain !== undefined && { sending_domain: sendingDomain }),
    ...(fallbackDomain !== undefined && { fallback_domain: fallbackDomain }),
    ...((!opens || !clicks) && { track: { opens, clicks } }),
  };
  try {
    return { newsletter_id: check(newsletterId, id), fields: check(newsletterSchema, given) };
  } catch (error) {
    return faultInOptions(error, {
      '': 'The id',
      name: '--name',
      from: '--from',
      reply_to: '--reply-to',
      sending_domain: '--sending-domain',
      fallback_domain: '--fallback-domain',
    });
  }
}

async function create(session: Session, id: string, options: CreateOptions): Promise<number> {
  const { tenant } = options;
  const { newsletter_id, fields: given } = checked(id, options);
  const at = session.clock().toISOString();
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  const newsletter = {
    ...(Object.fromEntries(present) as v.InferOutput<typeof newsletterSchema>),
    ...{ tenant_id: tenant, newsletter_id, created_at: at, updated_at: at },
  } as Newsletter;
  const decision = { what: 'newsletter.put', on: [newsletter_id], details: { tenant } };
  const { answer } = await session.decide(decision, async () => ({
    answer: await storeOf(session).put(newsletter),
    result: { stored: 1 },
  }));
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
