import { Parser } from 'htmlparser2';
import { ExplainedError } from '../../core/model/problem.ts';
import { segmentFields, segmentMatcher } from '../../core/newsletter/audience/segment.ts';
import type { EmailContent } from '../../core/newsletter/model/email.ts';
import { MERGE_USE, mergeUses } from '../../core/newsletter/model/merge-fields.ts';
import type { Rendering } from '../../core/newsletter/model/provider.ts';
import type { PartSegments } from '../../core/newsletter/preparation/ports.ts';
import type { Renderings } from '../../core/newsletter/sending/send-deps.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import { parseSegment } from '../nql/parse-segment.ts';

/** A rendering is a set of shown parts, as the bits of a number. */
const MAX_PARTS = 30;

/** A post that cannot be rendered; the message says what would be right. */
export class PostError extends ExplainedError {
  override readonly name = 'PostError';
}

/** The post as HTML, before parts are left out. @throws PostError for more than 30 parts, SegmentError for a bad one */
export async function postParts({ body, format }: Pick<EmailContent, 'body' | 'format'>) {
  const { text, release } = holdMergeFields(body);
  const html = await htmlOf(text, format);
  const parts = format === 'text' ? [] : findParts(html);
  if (parts.length > MAX_PARTS) {
    throw new PostError(
      `The post has ${parts.length} parts with a segment of their own; at most ${MAX_PARTS} are possible.`,
    );
  }
  const segments = await Promise.all(parts.map(({ segment }) => parseSegment(segment)));
  return { html, parts, segments, release };
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

/** @param shown bit i is set when part i of the post is shown */
export async function render(content: EmailContent, shown: number): Promise<Rendering> {
  const { html, parts, release } = await postParts(content);
  const own = withParts(html, parts, (part) => (shown & (1 << part)) !== 0);
  const subject = subjectLine(content.subject);
  const page = withFooter(asDocument(own, subject), content, namesLink(release(visibleIn(own))));
  const text = content.format === 'text' ? withTextFooter(content) : release(await htmlToPlainText(page));
  return { subject, html: release(page), text };
}

/** A subject is one line: SES refuses line breaks. */
const subjectLine = (subject: string): string => subject.replace(/\p{Cc}+/gu, ' ').trim();

async function htmlOf(body: string, format: EmailContent['format']): Promise<string> {
  switch (format) {
    case 'html':
      return body;
    case 'text':
      return `<div style="white-space:pre-wrap">${escapeHtml(body)}</div>`;
    case 'markdown': {
      const { marked } = await import('marked');
      return timeBoxed(() => marked.parse(body, { async: false }));
    }
  }
}

function asDocument(html: string, subject: string): string {
  if (/<html[\s>]/i.test(html)) return html;
  return (
    '<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
    `<title>${escapeHtml(withoutFields(subject))}</title></head><body>${html}</body></html>`
  );
}

/** Every mail shows a way out, beside the header of RFC 8058 that many programs hide: where its reader sees it. */
function withFooter(html: string, content: EmailContent, hasLink: boolean): string {
  if (hasLink) return html;
  const name = escapeHtml(content.newsletter.name);
  const footer = `<p style="font-size:small">You get this because you subscribe to ${name}. <a href="{unsubscribe_url}">Unsubscribe</a></p>`;
  const end = html.search(/<\/body\s*>(?![\s\S]*<\/body)/i);
  return end < 0 ? html + footer : html.slice(0, end) + footer + html.slice(end);
}

function withTextFooter(content: EmailContent): string {
  const { body } = content;
  if (namesLink(body)) return body;
  return `${body}\n\n--\nYou get this because you subscribe to ${content.newsletter.name}. Unsubscribe: {unsubscribe_url}\n`;
}

/** The title of the page is no place for a value: nobody reads it, and quotes of a fallback would break it. */
const withoutFields = (subject: string): string => subject.replaceAll(MERGE_USE, '').trim();

const namesLink = (text: string): boolean => mergeUses(text).some(({ field }) => field === 'unsubscribe_url');

interface HeldFields {
  /** The text with a plain word in the place of each merge field. */
  readonly text: string;
  /** Puts the merge fields back, as they were written. */
  readonly release: (converted: string) => string;
}

/** Converters escape quotes in texts and braces in links, which a merge field would not survive; a word does. */
function holdMergeFields(text: string): HeldFields {
  const uses = mergeUses(text);
  if (uses.length === 0) return { text, release: (converted) => converted };
  let word = 'mergefield';
  while (text.includes(word)) word += 'x';
  const held = (index: number) => `${word}${index}z`;
  const indexes = new Map(uses.map((use, index) => [use.text, index]));
  const released = new RegExp(`${word}(\\d+)z`, 'g');
  return {
    text: text.replaceAll(MERGE_USE, (use) => held(indexes.get(use) ?? 0)),
    release: (converted) => converted.replaceAll(released, (_, index: string) => uses[Number(index)]?.text ?? ''),
  };
}

/** A part of a post that only some members see: `<div data-gh-segment="status:free">…</div>`, as Ghost writes it. */
export interface SegmentPart {
  /** As it was written, in NQL. */
  readonly segment: string;
  /** Where the part begins and ends in the HTML. */
  readonly start: number;
  readonly end: number;
}

/**
 * The parts in the order of the post; any element may be one. A part inside a hidden part is hidden with it. An element
 * without an end ends where HTML lets it end.
 */
export function findParts(html: string): readonly SegmentPart[] {
  const found: (Omit<SegmentPart, 'end'> & { end: number })[] = [];
  const open: ((typeof found)[number] | undefined)[] = [];
  let over = false;
  const parser = new Parser(
    {
      onopentag(_, { 'data-gh-segment': segment }) {
        const part = segment === undefined ? undefined : { segment, start: parser.startIndex, end: html.length };
        if (part !== undefined) found.push(part);
        open.push(part);
      },
      onclosetag(_, implied) {
        const part = open.pop();
        if (part === undefined || over) return;
        // What another tag ends, ends before it; an element that has no content ends with its own tag.
        part.end = implied && parser.startIndex !== part.start ? parser.startIndex : parser.endIndex + 1;
      },
    },
    { decodeEntities: true },
  );
  parser.write(html);
  over = true;
  parser.end();
  return found;
}

/** The HTML with the parts that `isShown` says, and without the others. @param isShown by the number of the part */
export function withParts(html: string, parts: readonly SegmentPart[], isShown: (part: number) => boolean): string {
  let at = 0;
  let shown = '';
  parts.forEach(({ start, end }, i) => {
    if (isShown(i) || end <= at) return;
    shown += html.slice(at, Math.max(at, start));
    at = end;
  });
  return shown + html.slice(at);
}

/** Elements whose text nobody sees. */
const UNSEEN = new Set(['head', 'title', 'style', 'script', 'template']);

/** The texts and the targets of links that a reader can see. */
export function visibleIn(html: string): string {
  let seen = '';
  const hidden: boolean[] = [];
  const isHidden = () => hidden.at(-1) ?? false;
  const parser = new Parser({
    onopentag(name, { href = '', hidden: attribute, style = '' }) {
      hidden.push(isHidden() || UNSEEN.has(name) || attribute !== undefined || /display\s*:\s*none/i.test(style));
      if (name === 'a' && !isHidden()) seen += `${href}\n`;
    },
    ontext(text) {
      if (!isHidden()) seen += text;
    },
    onclosetag() {
      hidden.pop();
    },
  });
  parser.end(html);
  return seen;
}
