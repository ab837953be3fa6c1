import { Parser } from 'htmlparser2';

/** A part of a post that only some members see: `<div data-gh-segment="status:free">…</div>`, as Ghost writes it. */
export interface SegmentPart {
  /** As it was written, in NQL. */
  readonly segment: string;
  /** Where the part begins and ends in the HTML. */
  readonly start: number;
  readonly end: number;
}

/** The parts in the order of the post. A part inside a hidden part is hidden with it. A part without an end ends with the post. */
export function findParts(html: string): readonly SegmentPart[] {
  const found: (Omit<SegmentPart, 'end'> & { end?: number })[] = [];
  const open: ((typeof found)[number] | undefined)[] = [];
  const parser = new Parser(
    {
      onopentag(name, { 'data-gh-segment': segment }) {
        if (name !== 'div') return;
        const part = segment === undefined ? undefined : { segment, start: parser.startIndex };
        if (part !== undefined) found.push(part);
        open.push(part);
      },
      onclosetag(name) {
        if (name !== 'div') return;
        const part = open.pop();
        if (part !== undefined) part.end = parser.endIndex + 1;
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  return found.map((part) => ({ ...part, end: part.end ?? html.length }));
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
