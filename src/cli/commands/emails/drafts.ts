import { InvalidArgumentError } from 'commander';
import { mailbox } from '../../../adapters/email/address.ts';
import { draftAccess } from '../../../application/emails/draft-access.ts';
import {
  type DraftAccess,
  draftEmail,
  publicationOf,
  publish,
  replaceBy,
  sendTest,
} from '../../../application/emails/drafts.ts';
import { requireEmail } from '../../../application/emails/emails.ts';
import type { Identities } from '../../../application/requests/idempotency.ts';
import { defined } from '../../../core/model/collections.ts';
import { type DryRun, dryRun } from '../../../core/newsletter/lifecycle/dry-run.ts';
import type { Publication } from '../../../core/newsletter/lifecycle/publish.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { withProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { onDeployment, type Session } from '../../session/session.ts';
import { warningLines } from './newsletters.ts';
import { fileOrEmail, parseAt, requestOf } from './post.ts';

export const addEmailsSend = onDeployment({
  name: 'send',
  says: "send a post to a newsletter's members",
  args: { '<FILE>': 'the post: .md, .html or .txt' },
  options: {
    '--tenant <ID>': required(value('the tenant of the newsletter', parseId)),
    '--newsletter <ID>': required(value('the newsletter', parseId)),
    '--segment <NQL>': 'which members get it, such as status:paid; all by default',
    '--scheduled-at <TIME>': value('when to send it, such as 2026-12-01T09:00:00Z; at once by default', parseAt),
    '--window <MINUTES>': value('spread it over this many minutes', parseCount),
    '--idempotency-key <KEY>': 'send the same post once more: it is sent once per key',
    '--dry-run': 'show who would get it, who would not, and why; send and store nothing',
  },
  help: `
The same post is sent once: repeating the command, also after a failure, shows the existing mailing. The subject is
"subject: …" between two lines --- at the top of the file, or the first heading of a .md file.

Example:
  npm run ops -- emails send weekly.md --tenant TENANT001 --newsletter weekly --segment status:paid`,
  async run(session, options, [file = '']) {
    const access = draftAccess(session);
    const { tenant: tenant_id, idempotencyKey, dryRun = false } = options;
    const request = await requestOf(session, file, options, access);
    const email_id = ({ emailIdOf }: Identities, request_hash: string) =>
      emailIdOf(tenant_id, idempotencyKey ?? `ops emails send ${request_hash}`);
    const found = await publicationOf({ tenant_id, request, email_id }, access);
    if (dryRun) return showDryRun(session, found.publication, access);
    // Nothing is refused any more, and storing it may fail: whoever repeats the command, or looks, knows what to look for.
    session.terminal.say(`The email is ${found.publication.email_id}.\n`);
    const { repeat } = found;
    const { email_id: id, status, scheduled_at, warnings } = await session.decide(publish(found, access));
    const local = session.local ? ' --local' : '';
    printResult(session, defined({ email_id: id, status, repeat: repeat || undefined, warnings }), () => {
      const follow = `Follow it: npm run ops -- emails status ${id} --watch${local}`;
      if (repeat) {
        return `${id} was published before and is ${status}; nothing was published now. ${follow}\nTo send the same post once more, give the command --idempotency-key with a word of yours.\n`;
      }
      const when = scheduled_at === undefined ? 'is being sent' : `is sent at ${scheduled_at}`;
      return `${id} ${when}. ${follow}\n${warningLines({ warnings })}`;
    });
    return 0;
  },
});

/** Says who would get an email that is not published, and who would not and why. */
async function showDryRun(session: Session, publication: Publication, access: DraftAccess): Promise<number> {
  const part = await withProgress(session, (progress) =>
    dryRun(publication, access, ({ members: done }) => {
      progress.update({ verb: 'members looked at', done });
      return true;
    }),
  );
  if (!('result' in part)) return EXIT_FAILED;
  const { result } = part;
  printResult(session, { dry_run: true, ...result }, () => describeDryRun(result));
  return result.error === undefined ? 0 : EXIT_FAILED;
}

function describeDryRun(run: DryRun): string {
  const { recipients, excluded_by_reason, renderings, other_recipients, missing_fields, error, warnings = [] } = run;
  const number = (count: number) => count.toLocaleString('en');
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => `${number(count)} ${name}`);
  const excluded = counted(excluded_by_reason);
  const missing = Object.entries(missing_fields).map(([field, count]) => `{${field}} for ${number(count)}`);
  return [
    `${number(recipients)} ${recipients === 1 ? 'member' : 'members'} would get it${excluded.length > 0 ? `; excluded: ${excluded.join(', ')}` : ''}.`,
    ...(renderings.length > 1
      ? renderings.map(
          (one) => `  ${number(one.recipients)} with ${one.segments.join(' and ') || 'no part of its own'}`,
        )
      : []),
    ...(other_recipients === undefined ? [] : [`  ${number(other_recipients)} with other combinations of parts`]),
    ...(missing.length > 0 ? [`Missing: ${missing.join(', ')}.`] : []),
    ...warnings.map((warning) => `Warning: ${warning}`),
    error === undefined ? 'Nothing was sent or stored.' : `It would not be sent. ${error}`,
    '',
  ].join('\n');
}

export const addEmailsTest = onDeployment({
  name: 'test',
  says: 'send a post to a few addresses, with sample values; not counted',
  args: { '<FILE|ID>': 'a post that is not published (.md, .html, .txt), or an email_id' },
  options: {
    '--to <ADDRESS>': required(value('who gets it, up to 10; repeat the option for several', addAddress)),
    '--tenant <ID>': value('the tenant of the newsletter; for a file', parseId),
    '--newsletter <ID>': value('the newsletter; for a file', parseId),
  },
  help: '\nExample:\n  npm run ops -- emails test weekly.md --tenant TENANT001 --newsletter weekly --to me@example.com',
  async run(session, { to, tenant, newsletter }, [post = '']) {
    const access = draftAccess(session);
    const tested = await fileOrEmail(post, { tenant, newsletter }, access, session, (tenant_id, request) =>
      draftEmail({ tenant_id, request, email_id: session.newId() }, access),
    );
    const results = await session.decide(sendTest({ ...tested, to }, access));
    printResult(session, { results }, () =>
      table(results, [
        ['to', ({ index }) => to[index]],
        ['accepted', ({ accepted }) => (accepted ? 'yes' : 'no')],
        ['reason', ({ reason, message }) => message ?? reason],
      ]),
    );
    return results.every(({ accepted }) => accepted) ? 0 : EXIT_FAILED;
  },
});

function addAddress(text: string, before: readonly string[] = []): readonly string[] {
  const address = mailbox(text);
  if (address === undefined) throw new InvalidArgumentError('It must be one address, such as name@example.com.');
  if (before.length === 10) throw new InvalidArgumentError('At most 10 addresses are possible.');
  return [...before, address];
}

export const addEmailsReplace = onDeployment({
  name: 'replace',
  says: 'replace a mailing that has not started; options that you leave out stay as they are',
  args: { '<ID>': 'the email_id', '<FILE>': 'the post that takes its place: .md, .html or .txt' },
  options: {
    '--newsletter <ID>': value('another newsletter', parseId),
    '--segment <NQL>': 'another segment',
    '--scheduled-at <TIME>': value('another time, such as 2026-12-01T09:00:00Z', parseAt),
    '--window <MINUTES>': value('spread it over this many minutes', parseCount),
  },
  help: '\nExample:\n  npm run ops -- emails replace ID weekly.md --scheduled-at 2026-12-01T09:00:00Z',
  async run(session, options, [id = '', file = '']) {
    const access = draftAccess(session);
    const email = await requireEmail(id, access);
    const { tenant_id: tenant, newsletter_id, segment, scheduled_at, delivery_window_minutes } = email;
    const stored = {
      ...(segment !== undefined && { segment }),
      ...(scheduled_at !== undefined && { scheduled_at }),
      ...(delivery_window_minutes !== undefined && { delivery_window_minutes }),
    };
    const request = await requestOf(session, file, { tenant, newsletter: newsletter_id, ...options }, access, stored);
    const { status, scheduled_at: at, warnings } = await session.decide(replaceBy(email, request, access));
    printResult(session, defined({ email_id: id, status, scheduled_at: at, warnings }), () => {
      const when = at === undefined ? 'is being sent' : `is sent at ${at}`;
      return `${id} is replaced, and ${when}.\n${warningLines({ warnings })}`;
    });
  },
});
