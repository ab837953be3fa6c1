import type { Refused } from '../../core/delivery/sender.ts';
import type { NotificationContent } from '../../core/model/notification.ts';
import { tooNested } from './nesting-limit.ts';

type Converted<T> = { readonly ok: true; readonly value: T } | Refused;

/**
 * The content in its channel's form, or the refusal of what nests too deeply for the converters: that would fail each
 * time, whatever the provider.
 * @throws whatever else the converter throws.
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
    // What a full stack is to JavaScript; the converters descend by calling themselves.
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
