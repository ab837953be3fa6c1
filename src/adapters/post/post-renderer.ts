import { ExplainedError } from '../../core/model/problem.ts';
import { beginning, utf8Bytes } from '../../core/model/text.ts';
import { segmentFields, segmentMatcher } from '../../core/newsletter/audience/segment.ts';
import { type EmailContent, mailLanguageOf } from '../../core/newsletter/model/email.ts';
import { type MergeUse, type Pieces, piecesOf, withoutFields } from '../../core/newsletter/model/merge-fields.ts';
import type { Rendering, Renderings } from '../../core/newsletter/model/provider.ts';
import type { PartSegments } from '../../core/newsletter/preparation/ports.ts';
import { linkedText } from '../content/addresses.ts';
import { TooNestedError, tooNested } from '../content/convert-content.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import { walkHtml } from '../content/html-walk.ts';
import { parseSegment } from '../nql/parse-segment.ts';
import { FOOTER_STYLE, htmlFooter, textFooter, withAdditions } from './footer.ts';
import { faultOfFields, type HeldFields, holdFields } from './held-fields.ts';
import { templated } from './mail-template.ts';

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
  const { body, format, newsletter, subject, preheader = '' } = content;
  const held = holdFields(body, format, [JSON.stringify(newsletter), subject, preheader]);
  const html = await htmlOf(held, format);
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
      const at = new Date(email.submitting_at ?? email.scheduled_at ?? email.created_at);
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
    // A dry run that is asked for again has the same id, and another post or newsletter.
    of({ email_id, created_at, replaced_at = created_at }, content, { rendering }) {
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

/** @param shown bit i is set when part i of the post is shown @throws PostError */
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
  const { format, newsletter, preheader } = content;
  const subject = piecesOf(subjectLine(content.subject), 'subject');
  const own = withParts(html, parts, (part) => (shown & (1 << part)) !== 0);
  const text = format === 'text' ? held.source : await orNested(() => htmlToPlainText(own));
  const inLists =
    preheader !== undefined
      ? piecesOf(subjectLine(preheader), 'subject')
      : format === 'html'
        ? []
        : beginningOf(held.release(text, 'text'));
  const additions = {
    footer: htmlFooter(newsletter, held.link),
    before: inLists.length === 0 ? '' : `${PREHEADER}${held.inHtml(inLists)}${FILLER}</div>`,
    style: format === 'html' && /prefers-color-scheme/i.test(own) ? FOOTER_STYLE : '',
  };
  const page = withAdditions(asDocument(own, subject, content), additions, held.link);
  return {
    subject,
    html: held.release(page, 'html'),
    text: held.release(text + textFooter(newsletter, held.link, text), 'text'),
    own_bytes: utf8Bytes(own),
  };
}

/** What is read of a mail before it is opened, and blanks behind it, so that nothing of the post follows. */
const PREHEADER = '<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">';
const FILLER = '\u034f\u200c\u00a0'.repeat(60);
const LONGEST_BEGINNING = 140;

/** How a post begins, on one line; a field is taken whole. */
function beginningOf(text: Pieces): Pieces {
  const begun: (string | MergeUse)[] = [];
  let room = LONGEST_BEGINNING;
  for (const piece of text) {
    if (room <= 0) break;
    const shown = typeof piece === 'string' ? beginning(piece.replaceAll(/\s+/g, ' '), room) : piece;
    room -= typeof shown === 'string' ? shown.length : 20;
    if (typeof shown === 'string' || shown.field !== 'unsubscribe_url') begun.push(shown);
  }
  return begun;
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

async function htmlOf({ source, link }: HeldFields, format: EmailContent['format']): Promise<string> {
  if (format === 'html') return source;
  if (format === 'text') {
    // Outlook for Windows knows no preserved lines.
    const lines = linkedText(source, { held: link }).replaceAll(/\r\n?|\n/g, '<br>');
    return `<div style="white-space:pre-wrap">${lines}</div>`;
  }
  const why = tooNested({ body: source, format: 'MARKDOWN' });
  if (why !== undefined) throw new PostError('nesting', `The Markdown ${why}; simplify it.`);
  const { markdownToHtml } = await import('../content/markdown-html.ts');
  return timeBoxed(() => markdownToHtml(source));
}

/** The title of the page is no place for a value: nobody reads it. */
function asDocument(html: string, subject: Pieces, { format, newsletter }: EmailContent): string {
  if (format === 'html' && /<html[\s>]/i.test(html)) return html;
  const { style, attributes, body } =
    format === 'html' ? { style: '', attributes: '', body: html } : templated(html, newsletter);
  return (
    `<!doctype html><html lang="${mailLanguageOf(newsletter)}"><head><meta charset="utf-8">` +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    (style && `<meta name="color-scheme" content="light dark"><style>${style}</style>`) +
    `<title>${escapeHtml(withoutFields(subject).trim())}</title></head><body${attributes}>${body}</body></html>`
  );
}

/** A part of a post that only some members see: `<div data-gh-segment="status:free">…</div>`, as Ghost writes it. */
interface SegmentPart {
  /** As it was written, in NQL. */
  readonly segment: string;
  /** Where the part begins and ends in the HTML. */
  readonly start: number;
  readonly end: number;
}

/**
 * The parts in the order of the post; any element may be one. A part inside a hidden part is hidden with it. An element
 * without an end ends where HTML lets it end.
 * @throws TooNestedError
 */
function findParts(html: string): readonly SegmentPart[] {
  if (!/data-gh-segment/i.test(html)) return [];
  const found: (Omit<SegmentPart, 'end'> & { end: number })[] = [];
  const open: ((typeof found)[number] | undefined)[] = [];
  walkHtml(html, {
    open({ attributes }, parser) {
      const segment = attributes['data-gh-segment'];
      const part = segment === undefined ? undefined : { segment, start: parser.startIndex, end: html.length };
      if (part !== undefined) found.push(part);
      open.push(part);
    },
    close(_, by, parser) {
      const part = open.pop();
      if (part === undefined || by === 'end of text') return;
      // What another tag ends, ends before it; an element that has no content ends with its own tag.
      part.end = by === 'implied' && parser.startIndex !== part.start ? parser.startIndex : parser.endIndex + 1;
    },
  });
  return found;
}

/** The HTML with the parts that `isShown` says, and without the others. @param isShown by the number of the part */
function withParts(html: string, parts: readonly SegmentPart[], isShown: (part: number) => boolean): string {
  let at = 0;
  let shown = '';
  parts.forEach(({ start, end }, i) => {
    if (isShown(i) || end <= at) return;
    shown += html.slice(at, Math.max(at, start));
    at = end;
  });
  return shown + html.slice(at);
}
