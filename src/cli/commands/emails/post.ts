import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import type { EmailRequest } from '../../../adapters/api/email-request.ts';
import { replaceSchema } from '../../../adapters/api/email-schemas.ts';
import { parseTime } from '../../../core/model/time.ts';
import type { EmailFormat } from '../../../core/newsletter/model/email.ts';
import { check } from '../../../http/check.ts';
import type { DraftAccess } from '../../../operator-service/drafts.ts';
import { EXIT_USAGE, OperatorError, unreadableFile } from '../../../terminal/errors.ts';
import { faultInOptions, newsletterNotFound, type Session } from '../../session/session.ts';

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

const wrong = (message: string): OperatorError => new OperatorError(message, EXIT_USAGE);

/** What an email takes beside its post. */
export interface PostOptions {
  readonly tenant: string;
  readonly newsletter: string;
  readonly segment?: string;
  readonly scheduledAt?: string;
  readonly window?: number;
}

/** A time with its zone. */
export function parseAt(text: string): string {
  const time = v.is(v.pipe(v.string(), v.isoTimestamp()), text) ? parseTime(text) : undefined;
  if (time === undefined) throw new InvalidArgumentError('It must be a time such as 2026-12-01T09:00:00Z.');
  return time.toISOString();
}

/** What a request names as fields, the command names by its options and its file. @throws OperatorError */
function checkPost(raw: object, file: string): EmailRequest {
  try {
    return check(replaceSchema, raw);
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

/** What a file and options ask for. @throws OperatorError */
export async function requestOf(
  session: Session,
  file: string,
  { tenant, newsletter, segment, scheduledAt, window }: PostOptions,
  access: Pick<DraftAccess, 'newsletters'>,
): Promise<EmailRequest> {
  const raw = {
    ...(await readPost(file)),
    newsletter_id: newsletter,
    ...(segment !== undefined && { segment }),
    ...(scheduledAt !== undefined && { scheduled_at: scheduledAt }),
    ...(window !== undefined && { delivery_window_minutes: window }),
  };
  const request = checkPost(raw, file);
  if ((await access.newsletters.read(tenant, newsletter)) === undefined) {
    throw newsletterNotFound(tenant, newsletter, session);
  }
  return request;
}
