import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { EmailFormat } from '../../../core/newsletter/model/email.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { unreadableFile } from '../../../terminal/unreadable-file.ts';

const FORMATS: Readonly<Record<string, EmailFormat>> = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'text',
};

export interface Post {
  readonly subject: string;
  readonly body: string;
  readonly format: EmailFormat;
}

/** Reads a post: the subject is `subject:` of its front matter, or the first heading of Markdown. @throws OperatorError */
export async function readPost(path: string): Promise<Post> {
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
