import type { NotificationContent } from '../../core/model/notification.ts';
import { MAX_TEXT_CHARACTERS } from './message.ts';

/** Longer Markdown would have more markup than text to fit into Slack's limit, so it is not converted. */
export const MAX_MARKDOWN_CHARACTERS = 2 * MAX_TEXT_CHARACTERS;

/**
 * Says why a body is not converted to see whether it fits; undefined when it can be converted. Only Markdown is
 * limited: its parser's tokens take about a hundred times the memory of the text
 * (docs/decisions/channels/classification-and-content.md#0088).
 */
export function tooLongToConvert({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  if (format !== 'MARKDOWN' || body.length <= MAX_MARKDOWN_CHARACTERS) return undefined;
  return `the Markdown has ${body.length} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}, and no more than ${MAX_MARKDOWN_CHARACTERS} are converted`;
}
