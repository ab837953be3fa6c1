import { ExplainedError } from '../../core/model/problem.ts';
import { segmentFields, segmentMatcher } from '../../core/newsletter/audience/segment.ts';
import type { EmailContent } from '../../core/newsletter/model/email.ts';
import { type Pieces, piecesOf, withoutFields } from '../../core/newsletter/model/merge-fields.ts';
import type { Rendering, Renderings } from '../../core/newsletter/model/provider.ts';
import type { PartSegments } from '../../core/newsletter/preparation/ports.ts';
import { TooNestedError, tooNested } from '../content/convert-content.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import { parseSegment } from '../nql/parse-segment.ts';
import { faultOfFields } from './field-faults.ts';
import { textFooter, withFooter } from './footer.ts';
import { holdFields } from './held-fields.ts';
import { findParts, withParts } from './segment-parts.ts';

/** A rendering is a set of shown parts, as the bits of a number. */
const MAX_PARTS = 30;

/** A post that cannot be rendered; the message says what would be right. */
export class PostError extends ExplainedError {
  override readonly name = 'PostError';
  readonly rule: 'parts' | 'merge-field' | 'nesting';

  constructor(rule: PostError['rule'], message: string) {
    super(message);
    this.rule = rule;
  }
}

/** The post as HTML, before parts are left out. @throws PostError, SegmentError */
async function postParts(content: EmailContent) {
  const { body, format, newsletter } = content;
  const held = holdFields(body, format, [newsletter.name, content.subject]);
  const html = await htmlOf(held.source, format);
  const parts = format === 'text' ? [] : await orNested(() => findParts(html));
  if (parts.length > MAX_PARTS) {
    throw new PostError(
      'parts',
      `The post has ${parts.length} parts with a segment of their own; at most ${MAX_PARTS} are possible.`,
    );
  }
  const segments = await Promise.all(parts.map(({ segment }) => parseSegment(segment)));
  return { html, parts, segments, held };
}

/** Which members see which part of a post. */
export function createPartSegments(): PartSegments {
  return {
    async of(email, content) {
      const { parts, segments } = await postParts(content);
      // A relative time counts from the same moment however often the preparation is interrupted.
      const at = new Date(email.submitting_at ?? email.created_at);
      return parts.map(({ segment }, i) => ({
        segment,
        matches: segmentMatcher(segments[i], at),
        fields: segmentFields(segments[i]),
      }));
    },
  };
}

/** Makes each rendering of an email once, and keeps the last few (the source's EmailBodyCache). */
export function createRenderings(): Renderings {
  const made = new Map<string, Promise<Rendering>>();
  return {
    of({ email_id, replaced_at = '' }, content, { rendering }) {
      const key = `${email_id} ${replaced_at} ${rendering}`;
      const found = made.get(key) ?? render(content, rendering);
      made.delete(key);
      made.set(key, found);
      found.catch(() => made.delete(key));
      for (const oldest of [...made.keys()].slice(0, -KEPT)) made.delete(oldest);
      return found;
    },
  };
}

const KEPT = 20;

/**
 * @param shown bit i is set when part i of the post is shown
 * @throws PostError
 */
export async function render(content: EmailContent, shown: number): Promise<Rendering> {
  return renderParts(await postParts(content), content, shown);
}

/**
 * The post with all its parts, before it is stored: refused where members would not read the same in the HTML and in the
 * text. What is stored is sent without this look.
 * @throws PostError
 */
export async function renderChecked(content: EmailContent, shown: number): Promise<Rendering> {
  const post = await postParts(content);
  const { format } = content;
  const fault = format === 'text' ? undefined : await orNested(() => faultOfFields(post.html, post.held, format));
  if (fault !== undefined) throw new PostError('merge-field', fault);
  return renderParts(post, content, shown);
}

type PostParts = Awaited<ReturnType<typeof postParts>>;

async function renderParts({ html, parts, held }: PostParts, content: EmailContent, shown: number): Promise<Rendering> {
  const subject = piecesOf(subjectLine(content.subject), 'subject');
  const own = withParts(html, parts, (part) => (shown & (1 << part)) !== 0);
  const text = content.format === 'text' ? held.source : await orNested(() => htmlToPlainText(own));
  const page = asDocument(own, subject, content.format === 'html' ? '' : STYLE);
  const hasLink = held.hasLinkIn(text);
  return {
    subject,
    html: held.release(hasLink ? page : withFooter(page, content.newsletter.name, held.link), 'html'),
    text: held.release(hasLink ? text : text + textFooter(content.newsletter.name, held.link), 'text'),
  };
}

async function orNested<T>(convert: () => T | Promise<T>): Promise<T> {
  try {
    return await convert();
  } catch (error) {
    if (!(error instanceof TooNestedError)) throw error;
    throw new PostError('nesting', `The HTML of the body ${error.message}; simplify it.`);
  }
}

/** A subject is one line: SES refuses line breaks. */
const subjectLine = (subject: string): string => subject.replace(/\p{Cc}+/gu, ' ').trim();

async function htmlOf(source: string, format: EmailContent['format']): Promise<string> {
  if (format === 'html') return source;
  if (format === 'text') return `<div style="white-space:pre-wrap">${escapeHtml(source)}</div>`;
  const why = tooNested({ body: source, format: 'MARKDOWN' });
  if (why !== undefined) throw new PostError('nesting', `The Markdown ${why}; simplify it.`);
  const { markdownToHtml } = await import('../content/markdown-html.ts');
  return timeBoxed(() => markdownToHtml(source));
}

/**
 * How Markdown and text look; HTML is its author's. Wide pictures and code fit into a phone. No colour but a grey that is
 * seen on both grounds: a mail program in the dark turns its own.
 */
const STYLE =
  '<meta name="color-scheme" content="light dark"><style>:root{color-scheme:light dark}' +
  'body{max-width:40em;margin:0 auto;padding:1em;font-family:-apple-system,"Segoe UI",Roboto,"Noto Sans",Meiryo,sans-serif;' +
  'line-height:1.5;overflow-wrap:break-word}h1,h2,h3{line-height:1.25}img{max-width:100%;height:auto}' +
  'table{border-collapse:collapse}th,td{border:1px solid #999;padding:.25em .4em}' +
  'pre{white-space:pre-wrap;border:1px solid #999;border-radius:4px;padding:.6em}pre,code{font-size:.9em}pre code{font-size:1em}' +
  'blockquote{margin:1em 0;padding:0 1em;border-left:3px solid #999}</style>';

/** The title of the page is no place for a value: nobody reads it. */
function asDocument(html: string, subject: Pieces, style: string): string {
  if (/<html[\s>]/i.test(html)) return html;
  return (
    `<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${style}` +
    `<title>${escapeHtml(withoutFields(subject).trim())}</title></head><body>${html}</body></html>`
  );
}
