import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { Parser } from 'htmlparser2';
import { marked } from 'marked';
import * as v from 'valibot';
import { textOfFile } from '../../../adapters/content/text-encoding.ts';
import { replaceSchema } from '../../../application/contract/api/emails.ts';
import { type DraftAccess, storedEmail } from '../../../application/emails/drafts.ts';
import type { EmailRequest } from '../../../application/emails/publication.ts';
import { parseTime } from '../../../core/model/time.ts';
import type { EmailFormat } from '../../../core/newsletter/model/email.ts';
import { check } from '../../../http/check.ts';
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
  readonly preheader?: string;
  readonly body: string;
  readonly format: EmailFormat;
  readonly segment?: string;
  readonly scheduled_at?: string;
  readonly delivery_window_minutes?: number;
}

/** Reads a post: its subject is that of its front matter, or the first heading. @throws OperatorError */
async function readPost(path: string): Promise<Post> {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format === undefined) throw wrong(`${path}: a post is a file .md, .html or .txt.`);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw wrong(unreadableFile(path, cause));
  }
  const read = textOfFile(bytes);
  if ('fault' in read) throw wrong(`${path} ${read.fault}: save it in UTF-8.`);
  return parsePost(read.text, format, path);
}

/** As YAML allows it: blank lines above, blanks behind the marks, `...` as its end. */
const MATTER_LINES = /^\s*---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|$)/;
/** It has no end, or is TOML or JSON: as text, everybody would get it. */
const LIKE_MATTER = /^\s*(?:---[ \t]*\n\s*[\w-]+:|\+\+\+[ \t]*\n|;;;[ \t]*\n|\{\s*"[\w-]+"\s*:)/;

export function parsePost(text: string, format: EmailFormat, path: string): Post {
  const normal = text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  const [matter = '', head = ''] = MATTER_LINES.exec(normal) ?? [];
  if (matter === '' && LIKE_MATTER.test(normal)) {
    throw wrong(`${path}: its front matter is "key: value" on lines of their own, between two lines ---.`);
  }
  const body = normal.slice(matter.length).trim();
  const { subject = format === 'markdown' ? headingOf(body) : undefined, ...settings } = frontMatter(head, path);
  if (subject === undefined || subject === '') {
    throw wrong(`${path} has no subject: begin the file with three lines: ---, subject: …, ---.`);
  }
  if (body === '') throw wrong(`${path} has no text.`);
  return { subject, body, format, ...settings };
}

/** What the front matter of a post may set, and how the command names it. */
const MATTER = {
  subject: { option: undefined, read: (value: string) => value },
  preheader: { option: undefined, read: (value: string) => value },
  segment: { option: '--segment', read: (value: string) => value },
  scheduled_at: { option: '--scheduled-at', read: parseAt },
  delivery_window_minutes: { option: '--window', read: Number },
} as const;

/** A setting that nobody reads would send to others, or at another time, than its writer wrote. @throws OperatorError */
function frontMatter(head: string, path: string): Partial<Omit<Post, 'body' | 'format'>> {
  const settings: Record<string, string | number> = {};
  const known = Object.keys(MATTER).join(', ');
  for (const line of head.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, key = '', given = ''] = /^([\w-]+):(?:\s+(.*))?$/.exec(line) ?? [];
    if (key === '' || /^[|>[{&*]/.test(given)) {
      throw wrong(`${path}: each line of its front matter has the form "key: value"; keys are ${known}.`);
    }
    if (!isMatter(key)) throw wrong(`${path}: its front matter has ${key}, which nothing reads; keys are ${known}.`);
    if (key in settings) throw wrong(`${path}: its front matter has ${key} twice.`);
    const value = given.trim().replace(/^(["'])(.*)\1$/, '$2');
    try {
      settings[key] = MATTER[key].read(value);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw wrong(`${path}: ${key} of its front matter: ${error.message}`);
    }
  }
  return settings;
}

const isMatter = (key: string): key is keyof typeof MATTER => Object.hasOwn(MATTER, key);

/** The first heading as Markdown reads the document, so none within code or a comment; without its markup. */
function headingOf(body: string): string | undefined {
  const heading = marked.lexer(body).find(({ type }) => type === 'heading');
  if (heading === undefined || !('text' in heading)) return undefined;
  let words = '';
  const parser = new Parser({
    ontext: (text) => {
      words += text;
    },
    onopentag: (name, { alt = '' }) => {
      if (name === 'img') words += alt;
    },
  });
  parser.end(marked.parseInline(heading.text, { async: false }));
  return words.replaceAll(/\s+/g, ' ').trim();
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
      preheader: `the preheader of ${file}`,
      body: `the text of ${file}`,
    });
  }
}

/** What a file and options ask for. @param stored what stays where neither names it @throws OperatorError */
export async function requestOf(
  session: Session,
  file: string,
  { tenant, newsletter, segment, scheduledAt, window }: PostOptions,
  access: Pick<DraftAccess, 'newsletters'>,
  stored: Partial<Pick<Post, 'segment' | 'scheduled_at' | 'delivery_window_minutes'>> = {},
): Promise<EmailRequest> {
  const post = await readPost(file);
  const chosen = {
    ...(segment !== undefined && { segment }),
    ...(scheduledAt !== undefined && { scheduled_at: scheduledAt }),
    ...(window !== undefined && { delivery_window_minutes: window }),
  };
  for (const [key, value] of Object.entries(chosen)) {
    if (!isMatter(key) || post[key] === undefined || post[key] === value) continue;
    throw wrong(`${MATTER[key].option} and ${key} of the front matter of ${file} differ: leave one of them out.`);
  }
  const raw = { ...stored, ...post, newsletter_id: newsletter, ...chosen };
  const request = checkPost(raw, file);
  if ((await access.newsletters.read(tenant, newsletter)) === undefined) {
    throw newsletterNotFound(tenant, newsletter, session);
  }
  return request;
}

/** A stored email, or what is made of a post that is not published. @throws OperatorError, Problem not-found */
export async function fileOrEmail<T>(
  post: string,
  { tenant, newsletter }: Partial<Record<'tenant' | 'newsletter', string | undefined>>,
  access: DraftAccess,
  session: Session,
  ofFile: (tenant: string, request: EmailRequest) => Promise<T>,
) {
  if (extname(post) === '') return storedEmail(post, access);
  if (tenant === undefined || newsletter === undefined) {
    throw wrong('A post that is not published needs --tenant and --newsletter.');
  }
  return ofFile(tenant, await requestOf(session, post, { tenant, newsletter }, access));
}
