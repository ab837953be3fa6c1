import { newsletterSchema } from '../../../application/contract/api/newsletters.ts';
import {
  decideNewsletter,
  decideSender,
  newsletterDeps,
  newsletterStore,
  shownNewsletter,
} from '../../../application/newsletters.ts';
import { MAIL_LANGUAGES, type Newsletter } from '../../../core/newsletter/model/email.ts';
import type { SenderAction } from '../../../core/newsletter/model/ports.ts';
import { choice, required, value } from '../../../terminal/command.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields, table } from '../../../terminal/table.ts';
import { faultInOptions, newsletterNotFound, onDeployment, type Session, sayNext } from '../../session/session.ts';

/** Each has an option of its name. */
const FIELDS = Object.keys(newsletterSchema.entries).filter((field) => field !== 'track');
const keyOf = (field: string): string => field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What a mail lacks, each in a line of its own. */
export const warningLines = ({ warnings = [] }: { readonly warnings?: readonly string[] | undefined }): string =>
  warnings.map((warning) => `Warning: ${warning}\n`).join('');

const TENANT = required(value('the tenant', parseId));

export const addNewslettersCreate = onDeployment({
  name: 'create',
  says: 'create or replace a newsletter',
  args: { '<ID>': 'its id, such as weekly' },
  options: {
    '--tenant <ID>': required(value('the tenant who publishes it', parseId)),
    '--name <NAME>': required('its name, which the page of the unsubscribe link shows'),
    '--from <SENDER>': required('who it is from, such as "Weekly <news@example.com>"; verified in SES'),
    '--reply-to <ADDRESS>': 'who gets the replies',
    '--sending-domain <DOMAIN>': 'replaces the domain of --from while its warming allows it',
    '--fallback-domain <DOMAIN>': 'for mails beyond the warming of the sending domain',
    '--sender-name <NAME>': 'the person or company that sends it; required by law in each mail, like the next two',
    '--postal-address <ADDRESS>': 'where that person or company is',
    '--contact <TEXT>': 'where to ask or complain: an address, a telephone number or a URL',
    '--language <TAG>': choice('of its mails, their footer and the pages behind their links', MAIL_LANGUAGES),
    '--accent-color <COLOR>': 'of links and buttons, such as #1a5fb4',
    '--logo-url <URL>': 'a picture above each mail in Markdown or text, in place of the name',
    '--no-opens': 'no pixel in its mails: opens are not counted',
    '--no-clicks': 'links as they were written: clicks are not counted',
  },
  help: `
Replaces the whole newsletter: options that you leave out are reset.

Example:
  npm run ops -- newsletters create weekly --tenant TENANT001 --name Weekly --from "Weekly <news@example.com>" \\
    --sender-name "Example Inc." --postal-address "1 Main St, Springfield, IL 62701, USA" --contact hello@example.com`,
  async run(session, options, [newsletter_id = '']) {
    const { tenant, opens, clicks } = options;
    const written: Readonly<Record<string, unknown>> = options;
    const fields = Object.fromEntries(FIELDS.map((field) => [field, written[keyOf(field)]]));
    const given = { ...fields, ...((!opens || !clicks) && { track: { opens, clicks } }) };
    const names = Object.fromEntries(FIELDS.map((field) => [field, `--${field.replaceAll('_', '-')}`]));
    const stored = await session
      .decide(decideNewsletter({ tenant, newsletter_id }, given, newsletterDeps(session)))
      .catch((error: unknown) => faultInOptions(error, { ...names, newsletter_id: 'The id' }));
    const shown = shownNewsletter(stored);
    printResult(
      session,
      shown,
      () => `${newsletter_id} is stored: ${stored.name}, from ${stored.from}.\n${warningLines(shown)}`,
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
    const shown = shownNewsletter(found);
    const { track: _, warnings: __, ...rest } = shown;
    printResult(
      session,
      shown,
      () => fields([...Object.entries(rest), ['tracked', tracked(found)]]) + warningLines(shown),
    );
  },
});

export const addSendersAllow = decision(
  'allow',
  'allow a tenant to send from an address or a domain; from the first one on it may use no others, and no other tenant may use that one',
);
export const addSendersRevoke = decision(
  'revoke',
  'stop a tenant from sending from an address or domain: published mailings from it hold; without any, the senders of the stage count',
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
    : 'it sends from those of the stage (newsletter.senders) that no tenant has';
  printResult(session, { tenant_id, senders }, () =>
    senders.length === 0 ? `${tenant_id} has no senders of its own: ${without}.\n` : `${senders.join('\n')}\n`,
  );
}
