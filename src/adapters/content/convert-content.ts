import type { Refused } from '../../core/delivery/sender.ts';
import type { NotificationContent } from '../../core/model/notification.ts';
import { tooNested } from './nesting-limit.ts';

type Converted<T> = { readonly ok: true; readonly value: T } | Refused;

/**
 * Converts the content into the form of its channel. Content that nests too deeply for the converters is refused: no
 * retry could convert it.
 * @throws any other error of the converter
 */
export async function convertContent<T>(
  content: NotificationContent,
  convert: (content: NotificationContent) => Promise<T>,
): Promise<Converted<T>> {
  const why = tooNested(content);
  if (why !== undefined) return refused(content, why);
  try {
    return { ok: true, value: await convert(content) };
  } catch (error) {
    // The converters are recursive, and JavaScript reports a full stack as RangeError.
    if (!(error instanceof Error) || error.name !== 'RangeError') throw error;
    return refused(content, 'it exhausts the converter');
  }
}

const NAMES = { PLAIN: 'text', HTML: 'HTML', MARKDOWN: 'Markdown' } as const;

function refused({ format }: NotificationContent, why: string): Refused {
  return {
    ok: false,
    error_type: 'FORMAT_ERROR',
    asked: false,
    message: `the ${NAMES[format]} is nested too deeply to convert: ${why}; simplify message_body, or send it as PLAIN`,
    details: { stage: 'conversion' },
  };
}
