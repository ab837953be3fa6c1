import { walkHtml } from '../content/html-walk.ts';

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
 * @throws TooNestedError
 */
export function findParts(html: string): readonly SegmentPart[] {
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
