import type { EmailContent } from './email.ts';

/** The address whose part a value is. */
export type Within = 'url' | 'mailto';

interface Address {
  readonly start: number;
  readonly end: number;
  /** Where the address itself begins. */
  readonly from: number;
  readonly isMailto: boolean;
}

const SCHEMES = 'https?:\\/\\/|mailto:|\\{unsubscribe_url\\}(?=[?&#/])';
const HREF = '\\bhref\\s{0,9}=\\s{0,9}';
const FIELD = '\\{+[a-z_]+(?:,\\s{0,9}"[^"{}]*")?\\}+';
const REST = `(?:[^\\s<>"'(){}]|\\([^\\s<>"'(){}]*\\)|${FIELD})*`;
/** Between two marks an address may have blanks and brackets: `href="mailto:x@example.com?subject=From {name}"`. */
const between = (beginning: string, end: string) => `${beginning}(?:[^${end}{}]|${FIELD})*`;
const IN_QUOTES = [between(`${HREF}"`, '"'), between(`${HREF}'`, "'")];
const BEGINNINGS = {
  text: [`(?:${SCHEMES})${REST}`],
  html: [...IN_QUOTES, `(?:${SCHEMES}|${HREF})${REST}`],
  markdown: [...IN_QUOTES, between('\\]\\(<', '<>\n'), `(?:${SCHEMES}|${HREF}|\\]\\()${REST}`],
};

/** The addresses that a source writes: as its format marks them, and as a linkifier finds them. */
export function addressesIn(source: string, format: EmailContent['format']): readonly Address[] {
  const pattern = new RegExp(BEGINNINGS[format].join('|'), 'gi');
  return [...source.matchAll(pattern)].map(({ index, 0: whole }) => {
    const [marks = ''] = /^(?:href\s*=\s*["']?|\]\(<?)?/i.exec(whole) ?? [];
    const from = index + marks.length;
    const isMailto = /^mailto:/i.test(source.slice(from, from + 7));
    return { start: index, end: index + whole.length, from, isMailto };
  });
}

/** What a field is a part of. @param isLink to unsubscribe, which is an address of its own where it begins one */
export function withinOf(address: Address | undefined, at: number, isLink: boolean): Within | undefined {
  if (address === undefined || at < address.start) return undefined;
  if (isLink && at === address.from) return undefined;
  return address.isMailto ? 'mailto' : 'url';
}
