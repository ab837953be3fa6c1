import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { type Command, InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { type EmailRequest, toPublication } from '../../../adapters/api/email-request.ts';
import { emailSchema } from '../../../adapters/api/email-schemas.ts';
import { emailIdOf, requestHash } from '../../../adapters/api/idempotency.ts';
import { createSenderFault } from '../../../adapters/ses-v2/sender-identity.ts';
import { parseTime } from '../../../core/model/time.ts';
import { publishEmail } from '../../../core/newsletter/lifecycle/publish.ts';
import type { EmailFormat } from '../../../core/newsletter/model/email.ts';
import { check } from '../../../http/check.ts';
import { emailAccess } from '../../../operator-service/emails.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { unreadableFile } from '../../../terminal/unreadable-file.ts';
import {
  type CliContext,
  faultInOptions,
  newsletterNotFound,
  onDeployment,
  type Session,
} from '../../session/session.ts';

const FORMATS: Readonly<Record<string, EmailFormat>> = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'text',
};

interface Post {
  readonly subject: string;
  readonly body: string;
  readonly format: EmailFormat;
}

/** Reads a post: the subject is `subject:` of its front matter, or the first heading of Markdown. @throws OperatorError */
async function readPost(path: string): Promise<Post> {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format === undefined) throw wrong(`${path}: a post is a file .md, .html or .txt.`);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw wrong(unreadableFile(path, cause));
  }
  return parsePost(text, format, path);
}

export function parsePost(text: string, format: EmailFormat, path: string): Post {
  const normal = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const [matter = '', head = ''] = /^---\n([\s\S]*?)\n---(?:\n|$)/.exec(normal) ?? [];
  const body = normal.slice(matter.length).trim();
  const named = /^subject:\s*(.+)$/m
    .exec(head)?.[1]
    ?.trim()
    .replace(/^(["'])(.*)\1$/, '$2');
  const heading = format === 'markdown' ? /^#\s+(.+?)\s*#*$/m.exec(body)?.[1] : undefined;
  const subject = named ?? heading;
  if (subject === undefined || subject === '') {
    throw wrong(`${path} has no subject: begin the file with three lines: ---, subject: …, ---.`);
  }
  if (body === '') throw wrong(`${path} has no text.`);
  return { subject, body, format };
}

function wrong(message: string): OperatorError {
  return new OperatorError(message, EXIT_USAGE);
}

interface SendOptions {
  readonly tenant: string;
  readonly newsletter: string;
  readonly segment?: string;
  readonly scheduledAt?: string;
  readonly window?: number;
  readonly idempotencyKey?: string;
}

export function addEmailsSend(emails: Command, context: CliContext): void {
  const command = emails
    .command('send')
    .argument('<FILE>', 'the post: .md, .html or .txt')
    .requiredOption('--tenant <ID>', 'the tenant of the newsletter', parseId)
    .requiredOption('--newsletter <ID>', 'the newsletter', parseId)
    .option('--segment <NQL>', 'which members get it, such as status:paid; all by default')
    .option('--scheduled-at <TIME>', 'when to send it, such as 2026-12-01T09:00:00Z; at once by default', parseAt)
    .option('--window <MINUTES>', 'spread it over this many minutes', parseCount)
    .option('--idempotency-key <KEY>', 'send the same post once more: each key stands for one sending')
    .description("send a post to a newsletter's members")
    .addHelpText(
      'after',
      `
The same post goes once: a command that is repeated, after a failure, too, shows the email that there is already.
The subject is "subject: …" between two lines --- at the top of the file, or the first heading of a .md file.

Example:
  npm run ops -- emails send weekly.md --tenant TENANT001 --newsletter weekly --segment status:paid`,
    );
  onDeployment<SendOptions>(command, context, (session, options, [file = '']) => send(session, file, options));
}

/** A time with its zone. */
function parseAt(text: string): string {
  const time = v.is(v.pipe(v.string(), v.isoTimestamp()), text) ? parseTime(text) : undefined;
  if (time === undefined) throw new InvalidArgumentError('It must be a time such as 2026-12-01T09:00:00Z.');
  return time.toISOString();
}

/** Why SES would refuse a sender. A local runtime without an SES takes any. */
function senderFaultOf({ local, deployment: { clients } }: Session) {
  return local && clients.ses === undefined
    ? async () => undefined
    : createSenderFault(new SESv2Client(clients.ses ?? {}));
}

/** What a request names as fields, the command names by its options and its file. @throws OperatorError */
function checkPost(raw: object, file: string): EmailRequest {
  try {
    return check(emailSchema, raw);
  } catch (error) {
    return faultInOptions(error, {
      newsletter_id: '--newsletter',
      segment: '--segment',
      scheduled_at: '--scheduled-at',
      delivery_window_minutes: '--window',
      subject: `the subject of ${file}`,
      body: `the text of ${file}`,
    });
  }
}

async function send(session: Session, file: string, options: SendOptions): Promise<number> {
  const access = emailAccess(session);
  const raw = {
    ...(await readPost(file)),
    newsletter_id: options.newsletter,
    ...(options.segment !== undefined && { segment: options.segment }),
    ...(options.scheduledAt !== undefined && { scheduled_at: options.scheduledAt }),
    ...(options.window !== undefined && { delivery_window_minutes: options.window }),
  };
  const request = checkPost(raw, file);
  const tenant_id = options.tenant;
  const newsletter = await access.newsletters.read(tenant_id, options.newsletter);
  if (newsletter === undefined) throw newsletterNotFound(tenant_id, options.newsletter, session);
  const request_hash = requestHash(raw);
  const email_id = emailIdOf(tenant_id, options.idempotencyKey ?? `ops emails send ${request_hash}`);
  // Before anything can fail: whoever repeats the command, or looks, knows what to look for.
  session.terminal.say(`The email is ${email_id}.\n`);
  const ids = { tenant_id, email_id, request_hash };
  const { publication, repeat } = await toPublication(request, ids, {
    readNewsletter: async () => newsletter,
    readEmail: access.emails.read,
    senderFault: senderFaultOf(session),
    now: session.clock(),
  });
  const decision = {
    what: 'email.send',
    on: [email_id],
    details: { tenant: tenant_id, newsletter: options.newsletter },
  };
  const { answer } = await session.decide(decision, async () => ({
    answer: await publishEmail(publication, access),
    result: { [repeat ? 'repeated' : 'published']: 1 },
  }));
  const { status, scheduled_at } = answer;
  const local = session.local ? ' --local' : '';
  printResult(session, { email_id, status, ...(repeat && { repeat }) }, () => {
    const follow = `Follow it: npm run ops -- emails status ${email_id} --watch${local}`;
    if (repeat) {
      return `${email_id} was published before and is ${status}; nothing was published now. ${follow}\nTo send the same post once more, give the command --idempotency-key with a word of yours.\n`;
    }
    const when = scheduled_at === undefined ? 'is being sent' : `is sent at ${scheduled_at}`;
    return `${email_id} ${when}. ${follow}\n`;
  });
  return 0;
}
