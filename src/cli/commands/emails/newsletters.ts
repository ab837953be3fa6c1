import {
  decideNewsletter,
  decideSender,
  newsletterDeps,
  newsletterStore,
  shownNewsletter,
} from '../../../application/newsletters.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import type { SenderAction } from '../../../core/newsletter/model/ports.ts';
import { required, value } from '../../../terminal/command.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields, table } from '../../../terminal/table.ts';
import { faultInOptions, newsletterNotFound, onDeployment, type Session, sayNext } from '../../session/session.ts';

const TENANT = required(value('the tenant', parseId));

export const addNewslettersCreate = onDeployment({
  name: 'create',
  says: 'make or replace a newsletter',
  args: { '<ID>': 'its id, such as weekly' },
  options: {
    '--tenant <ID>': required(value('the tenant who publishes it', parseId)),
    '--name <NAME>': required('its name, which the page of the unsubscribe link shows'),
    '--from <SENDER>': required('who it is from, such as "Weekly <news@example.com>"; verified in SES'),
    '--reply-to <ADDRESS>': 'who gets the replies',
    '--sending-domain <DOMAIN>': 'replaces the domain of --from while its warming allows it',
    '--fallback-domain <DOMAIN>': 'for mails beyond the warming of the sending domain',
    '--no-opens': 'no pixel in its mails: opens are not counted',
    '--no-clicks': 'links as they were written: clicks are not counted',
  },
  help: '\nExample:\n  npm run ops -- newsletters create weekly --tenant TENANT001 --name Weekly --from "Weekly <news@example.com>"',
  async run(session, options, [newsletter_id = '']) {
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
    const stored = await session
      .decide(decideNewsletter(asked, given, newsletterDeps(session)))
      .catch((error: unknown) =>
        faultInOptions(error, {
          newsletter_id: 'The id',
          name: '--name',
          from: '--from',
          reply_to: '--reply-to',
          sending_domain: '--sending-domain',
          fallback_domain: '--fallback-domain',
        }),
      );
    printResult(
      session,
      shownNewsletter(stored),
      () => `${newsletter_id} is stored: ${stored.name}, from ${stored.from}.\n`,
    );
    sayNext('Import its members', `members import FILE.csv --tenant ${tenant} --newsletter ${newsletter_id}`, session);
  },
});

export const addNewslettersList = onDeployment({
  name: 'list',
  says: "list a tenant's newsletters",
  options: { '--tenant <ID>': TENANT },
  async run(session, { tenant }) {
    const found = await newsletterStore(session).list(tenant);
    printResult(session, found.map(shownNewsletter), () =>
      found.length === 0
        ? `${tenant} has no newsletters: newsletters create makes one.\n`
        : table(found, [['newsletter', 'newsletter_id'], 'name', 'from', ['tracked', tracked, 'wide']]),
    );
  },
});

function tracked({ track = { opens: true, clicks: true } }: Newsletter): string {
  const kinds = [...(track.opens ? ['opens'] : []), ...(track.clicks ? ['clicks'] : [])];
  return kinds.join(', ') || 'nothing';
}

export const addNewslettersShow = onDeployment({
  name: 'show',
  says: 'show a newsletter',
  args: { '<ID>': 'the newsletter' },
  options: { '--tenant <ID>': TENANT },
  async run(session, { tenant }, [id = '']) {
    const found = await newsletterStore(session).read(tenant, id);
    if (found === undefined) throw newsletterNotFound(tenant, id, session);
    const { track: _, ...rest } = shownNewsletter(found);
    printResult(session, shownNewsletter(found), () => fields([...Object.entries(rest), ['tracked', tracked(found)]]));
  },
});

export const addSendersAllow = decision(
  'allow',
  'let a tenant write as an address, or as all of a domain; from the first one on as no other, and no other tenant as it',
);
export const addSendersRevoke = decision(
  'revoke',
  'let a tenant write as an address no more; after the last one as those of the stage; published mailings go on',
);

/** As whom the newsletters of a tenant may be sent. */
function decision(action: SenderAction, says: string) {
  return onDeployment({
    name: action,
    says,
    args: { '<SENDER>': 'an address, or *@domain (quote it for the shell)' },
    options: { '--tenant <ID>': TENANT },
    help: `\nExample:\n  npm run ops -- senders ${action} '*@example.com' --tenant TENANT001`,
    async run(session, { tenant }, [sender = '']) {
      const left = await session
        .decide(decideSender({ tenant, sender, action }, newsletterStore(session)))
        .catch((error: unknown) => faultInOptions(error, { sender: 'SENDER' }));
      printSenders(tenant, left, session);
    },
  });
}

export const addSendersList = onDeployment({
  name: 'list',
  says: 'list the addresses and domains of a tenant',
  options: { '--tenant <ID>': TENANT },
  run: async (session, { tenant }) => printSenders(tenant, await newsletterStore(session).senders(tenant), session),
});

function printSenders(tenant_id: string, senders: readonly string[], session: Session): undefined {
  const without = session.deployment.own_senders_only
    ? 'it publishes nothing (newsletter.ownSendersOnly)'
    : 'it writes as those of the stage (newsletter.senders) that no tenant has';
  printResult(session, { tenant_id, senders }, () =>
    senders.length === 0 ? `${tenant_id} has no senders of its own: ${without}.\n` : `${senders.join('\n')}\n`,
  );
}
