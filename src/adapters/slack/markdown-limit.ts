import type { NotificationContent } from '../../core/notification.ts';
import { MAX_TEXT_CHARACTERS } from './message.ts';

/** Markdown that says what Slack takes in twice the characters has more markup than text: it is not even tried. */
export const MAX_MARKDOWN_CHARACTERS = 2 * MAX_TEXT_CHARACTERS;

/**
 * Why Markdown need not be converted to know that it is too long; undefined when it may fit, as with the other formats,
 * which are cheap to convert. The Markdown parser's tree takes several hundred times its text: ten of 256 KB would have
 * the function killed.
 */
export function hopeless({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  if (format !== 'MARKDOWN' || body.length <= MAX_TEXT_CHARACTERS) return undefined;
  const least = keptLetters(body);
  if (least > MAX_TEXT_CHARACTERS) {
    return `the message has at least ${least} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}`;
  }
  if (body.length <= MAX_MARKDOWN_CHARACTERS) return undefined;
  return `the Markdown has ${body.length} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}, and no more than ${MAX_MARKDOWN_CHARACTERS} are converted`;
}

/**
 * Letters that no conversion drops: those of each paragraph up to the first character that may begin a link, a
 * definition, a character reference, a code fence or a table. Digits do not count, as lists are numbered anew.
 */
export function keptLetters(markdown: string): number {
  const beginnings = markdown.split(/\n[ \t\r]*\n/).map((paragraph) => /^[^[&`~|]*/.exec(paragraph)?.[0] ?? '');
  return beginnings.join('').replace(/\P{L}+/gu, '').length;
}
