import { wholeWords } from './recipient-patterns.ts';

/** About what a retry record has room for beside its other columns (retry-record.ts). */
const MAX_EXCERPT = 450;
/** Characters of an answer that are examined. They exceed the excerpt because masking shortens the text. */
const WINDOW = 3 * MAX_EXCERPT;
/** Characters at the end of the window that are not shown of a longer answer: a cut value cannot be recognised. */
const CUT_OFF = 64;
/** A run of so many characters of our own values is recognised in the answer. */
const RUN = 8;
/** Scripts that need few characters for a name need only so many. */
const DENSE_RUN = 3;
const MASK = '…';
const ADDRESS_LIKE = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+|https?:\/\/[^\s"'<>]+|xox[a-z]-[\w-]+|whsec_[\w+/=]+/gi;
const ESCAPED = /\\u([0-9a-f]{4})/gi;
const ACCENTED_WORD = /(?=[\p{L}\p{M}]*(?!\p{ASCII})[\p{L}\p{M}])[\p{L}\p{M}]{3,}/gu;

/**
 * The start of a provider's answer for the retry record, at most 450 characters. Providers often echo what they
 * refuse, so addresses, URLs and tokens are masked, and so are parts of our own values (recipient, subject, body,
 * credential), plain or JSON-escaped: runs of eight characters, or of three outside ASCII, words with a letter
 * outside ASCII, and the words of an address (docs/architecture.md, invariant 9). The cost grows with the length of the
 * values: a few milliseconds for 256 KB.
 */
export function answerExcerpt(text: string, sent: readonly (string | undefined)[]): string {
  const values = sent.filter((one) => one !== undefined && one !== '').map(String);
  const start = text.slice(0, WINDOW).replace(ESCAPED, unescaped).replace(ADDRESS_LIKE, MASK);
  const known = [...values, ...values.map((one) => JSON.stringify(one)).filter((json, i) => json !== `"${values[i]}"`)];
  const masked = new Uint8Array(start.length);
  markRuns(start, known, RUN, (run) => run.trim() !== '', masked);
  markRuns(start, known, DENSE_RUN, isDense, masked);
  markWords(start, known, values, masked);
  const shown = text.length > WINDOW ? start.length - CUT_OFF : start.length;
  return wellFormed(withMasks(start.slice(0, shown), masked).slice(0, MAX_EXCERPT));
}

/** Escaped letters outside ASCII become letters, so that an escaped echo is recognised. */
function unescaped(sequence: string, code: string): string {
  const unit = Number.parseInt(code, 16);
  return unit < 0x80 ? sequence : String.fromCharCode(unit);
}

/** Only letters outside ASCII. Half a surrogate pair counts as a letter. */
function isDense(run: string): boolean {
  return /^[^\p{ASCII}\p{P}\p{S}\p{Z}]+$/u.test(run);
}

/** Marks all runs of `size` characters of the text that occur in a known value, in one pass over each value. */
function markRuns(
  text: string,
  known: readonly string[],
  size: number,
  isRun: (run: string) => boolean,
  masked: Uint8Array,
): void {
  const places = new Map<string, number[]>();
  // Hashes of the outer characters of all runs: they spare the pass from cutting every run out of the known values.
  const outer = new Uint8Array(1 << 16);
  for (let at = 0; at + size <= text.length; at++) {
    const run = text.slice(at, at + size);
    if (!isRun(run)) continue;
    outer[outerHash(text, at, size)] = 1;
    const before = places.get(run);
    if (before) before.push(at);
    else places.set(run, [at]);
  }
  for (const one of known) {
    for (let at = 0; at + size <= one.length && places.size > 0; at++) {
      if (outer[outerHash(one, at, size)] !== 1) continue;
      const run = one.slice(at, at + size);
      for (const place of places.get(run) ?? []) masked.fill(1, place, place + size);
      places.delete(run);
    }
  }
}

function outerHash(text: string, at: number, size: number): number {
  return (text.charCodeAt(at) * 257 + text.charCodeAt(at + 1) * 17 + text.charCodeAt(at + size - 1)) & 0xffff;
}

/** Marks words that are too short for a run. */
function markWords(text: string, known: readonly string[], values: readonly string[], masked: Uint8Array): void {
  for (const { index, 0: word } of text.matchAll(ACCENTED_WORD)) {
    if (known.some((one) => one.includes(word))) masked.fill(1, index, index + word.length);
  }
  for (const word of values.flatMap(wholeWords)) {
    for (const { index, 0: found } of text.matchAll(word)) masked.fill(1, index, index + found.length);
  }
}

function withMasks(text: string, masked: Uint8Array): string {
  let out = '';
  for (let at = 0; at < text.length; at++) {
    if (masked[at] !== 1) out += text[at];
    else if (at === 0 || masked[at - 1] !== 1) out += MASK;
  }
  return out;
}

/** Removes halves of surrogate pairs that a mask or the end of the excerpt has cut. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\ufffd', '');
}
