import { extname } from 'node:path';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { type Command, InvalidArgumentError } from 'commander';
import { requestHash } from '../../../adapters/api/idempotency.ts';
import { mailbox } from '../../../adapters/email/address.ts';
import { createCandidateReader } from '../../../adapters/nql/candidate-reader.ts';
import { createPartSegments, createRenderings } from '../../../adapters/post/post-renderer.ts';
import { createBulkProvider } from '../../../adapters/ses-v2/bulk-provider.ts';
import { type DryRun, dryRun } from '../../../core/newsletter/lifecycle/dry-run.ts';
import { newEmail, type Publication, replaceEmail } from '../../../core/newsletter/lifecycle/publish.ts';
import type { Email, EmailContent } from '../../../core/newsletter/model/email.ts';
import { createLateExclusions } from '../../../core/newsletter/sending/exclusion-checks.ts';
import { sendTestMail, type TestMailResult } from '../../../core/newsletter/sending/test-mail.ts';
import { type EmailAccess, emailAccess, requireEmail } from '../../../operator-service/emails.ts';
import { memberAccess } from '../../../operator-service/members.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { type PostOptions, parseAt, publicationOf } from './post.ts';

/** Says who would get an email that is not published, and who would not and why. */
export async function showDryRun(session: Session, publication: Publication): Promise<number> {
  const { members, sealing } = memberAccess(session);
  const access = emailAccess(session);
  const deps = { ...access, candidates: createCandidateReader(members, sealing), parts: createPartSegments() };
  const progress = showProgress(session);
  let run: DryRun | undefined;
  try {
    const goesOn = ({ members: done }: { readonly members: number }) => {
      progress.update({ verb: 'members looked at', done });
      return true;
    };
    const part = await dryRun(publication, deps, goesOn);
    run = 'result' in part ? part.result : undefined;
  } finally {
    progress.end();
  }
  if (run === undefined) return EXIT_FAILED;
  const { error } = run;
  printResult(session, { dry_run: true, ...run }, () => describeDryRun(run));
  return error === undefined ? 0 : EXIT_FAILED;
}

function describeDryRun({ recipients, excluded_by_reason, renderings, missing_fields, error }: DryRun): string {
  const number = (count: number) => count.toLocaleString('en');
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => `${number(count)} ${name}`);
  const excluded = counted(excluded_by_reason);
  const missing = Object.entries(missing_fields).map(([field, count]) => `{${field}} for ${number(count)}`);
  return [
    `${number(recipients)} members would get it${excluded.length > 0 ? `; excluded: ${excluded.join(', ')}` : ''}.`,
    ...(renderings.length > 1
      ? renderings.map(
          (one) => `  ${number(one.recipients)} with ${one.segments.join(' and ') || 'no part of its own'}`,
        )
      : []),
    ...(missing.length > 0 ? [`Missing: ${missing.join(', ')}.`] : []),
    error === undefined ? 'Nothing was sent or stored.' : `It would not be sent. ${error}`,
    '',
  ].join('\n');
}

interface TestOptions extends Partial<PostOptions> {
  readonly to: readonly string[];
}

export function addEmailsTest(emails: Command, context: CliContext): void {
  const command = emails
    .command('test')
    .argument('<FILE|ID>', 'a post that is not published (.md, .html, .txt), or an email_id')
    .requiredOption('--to <ADDRESS>', 'who gets it, up to 10; repeat the option for several', addAddress)
    .option('--tenant <ID>', 'the tenant of the newsletter; for a file', parseId)
    .option('--newsletter <ID>', 'the newsletter; for a file', parseId)
    .description('send a post to a few addresses with sample values; nobody is counted')
    .addHelpText(
      'after',
      '\nExample:\n  npm run ops -- emails test weekly.md --tenant TENANT001 --newsletter weekly --to me@example.com',
    );
  onDeployment<TestOptions>(command, context, (session, options, [post = '']) => test(session, post, options));
}

function addAddress(text: string, before: readonly string[] = []): readonly string[] {
  const address = mailbox(text);
  if (address === undefined) throw new InvalidArgumentError('It must be one address, such as name@example.com.');
  if (before.length === 10) throw new InvalidArgumentError('At most 10 addresses are possible.');
  return [...before, address];
}

async function test(session: Session, post: string, { to, tenant, newsletter }: TestOptions): Promise<number> {
  const access = emailAccess(session);
  const { email, content } = await draftOf(post, { tenant, newsletter }, access, session);
  const { clients, newsletter_configuration_set: set } = session.deployment;
  if (set === undefined || (session.local && clients.ses === undefined)) {
    throw new OperatorError(
      'This deployment does not say by which configuration set it sends newsletters: deploy it anew.',
    );
  }
  const provider = createBulkProvider({
    client: new SESv2Client({ ...clients.ses, maxAttempts: 1 }),
    configurationSet: set,
  });
  const { members, sealing } = memberAccess(session);
  const exclusions = createLateExclusions(members, sealing);
  const { answer } = await session.decide({ what: 'email.test', on: [email.email_id] }, async () => {
    const results = await sendTestMail(
      { email, content, to },
      { provider, renderings: createRenderings(), exclusions },
    );
    return { answer: results, result: { sent: results.filter(({ accepted }) => accepted).length } };
  });
  printResult(session, { results: answer }, () =>
    table<TestMailResult>(
      [
        { title: 'to', of: ({ index }) => to[index] },
        { title: 'accepted', of: ({ accepted }) => (accepted ? 'yes' : 'no') },
        { title: 'reason', of: ({ reason, message }) => message ?? reason },
      ],
      answer,
      session.terminal.colors,
    ),
  );
  return answer.every(({ accepted }) => accepted) ? 0 : EXIT_FAILED;
}

/** What is tested: a stored email, or a post as it would be published. */
async function draftOf(
  post: string,
  { tenant, newsletter }: Partial<Record<'tenant' | 'newsletter', string | undefined>>,
  access: EmailAccess,
  session: Session,
): Promise<{ readonly email: Email; readonly content: EmailContent }> {
  if (extname(post) === '') {
    const email = await requireEmail(post, access);
    const content = await access.emails.content(email.email_id);
    if (content === undefined) throw new OperatorError(`The email ${post} has no content any more.`);
    return { email, content };
  }
  if (tenant === undefined || newsletter === undefined) {
    throw new OperatorError('A post that is not published needs --tenant and --newsletter.', EXIT_USAGE);
  }
  const { publication } = await publicationOf(session, post, { tenant, newsletter }, session.newId());
  return { email: newEmail(publication, access), content: publication.content };
}

type ReplaceOptions = Partial<Omit<PostOptions, 'tenant'>>;

export function addEmailsReplace(emails: Command, context: CliContext): void {
  const command = emails
    .command('replace')
    .argument('<ID>', 'the email_id')
    .argument('<FILE>', 'the post that takes its place: .md, .html or .txt')
    .option('--newsletter <ID>', 'another newsletter', parseId)
    .option('--segment <NQL>', 'another segment')
    .option('--scheduled-at <TIME>', 'another time, such as 2026-12-01T09:00:00Z', parseAt)
    .option('--window <MINUTES>', 'spread it over this many minutes', parseCount)
    .description('replace a mailing that has not started; what no option names stays')
    .addHelpText(
      'after',
      '\nExample:\n  npm run ops -- emails replace ID weekly.md --scheduled-at 2026-12-01T09:00:00Z',
    );
  onDeployment<ReplaceOptions>(command, context, (session, options, [id = '', file = '']) =>
    replace(session, id, file, options),
  );
}

async function replace(session: Session, id: string, file: string, options: ReplaceOptions): Promise<number> {
  const access = emailAccess(session);
  const email = await requireEmail(id, access);
  const { tenant_id: tenant, newsletter_id, segment, scheduled_at, delivery_window_minutes } = email;
  const given: PostOptions = {
    tenant,
    newsletter: newsletter_id,
    ...(segment !== undefined && { segment }),
    ...(scheduled_at !== undefined && { scheduledAt: scheduled_at }),
    ...(delivery_window_minutes !== undefined && { window: delivery_window_minutes }),
    ...options,
  };
  const { publication } = await publicationOf(session, file, given, `${id}-next`);
  const decision = { what: 'email.replace', on: [id], details: { tenant, request: requestHash(given) } };
  const { answer } = await session.decide(decision, async () => ({
    answer: await replaceEmail(email, publication, access),
    result: { replaced: 1 },
  }));
  const { status, scheduled_at: at } = answer;
  printResult(session, { email_id: id, status, ...(at !== undefined && { scheduled_at: at }) }, () =>
    at === undefined ? `${id} is replaced, and is being sent.\n` : `${id} is replaced, and is sent at ${at}.\n`,
  );
  return 0;
}
