import type { NotificationContent } from '../../core/model/notification.ts';
import { MAX_TEXT_CHARACTERS } from './message.ts';

/** Markdown that says what Slack takes in twice the characters has more markup than text: it is not even tried. */
export const MAX_MARKDOWN_CHARACTERS = 2 * MAX_TEXT_CHARACTERS;

/**
 * Why Markdown is not converted to see whether it fits; undefined when it is, as with the other formats, which are cheap
 * to convert. The Markdown parser's tree takes several hundred times its text: ten of 256 KB would have the function
 * killed.
 */
export function tooLongToConvert({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  if (format !== 'MARKDOWN' || body.length <= MAX_MARKDOWN_CHARACTERS) return undefined;
  return `the Markdown has ${body.length} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}, and no more than ${MAX_MARKDOWN_CHARACTERS} are converted`;
}
