import { Parser } from 'htmlparser2';

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
