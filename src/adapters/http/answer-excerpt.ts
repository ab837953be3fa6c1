import { wholeWords } from './recipient-words.ts';

const MAX_EXCERPT = 300;
/** Of an answer this much is looked at: what is masked makes room for what follows. */
const WINDOW = 3 * MAX_EXCERPT;
/** Of a longer answer the window's end is not shown: what is cut off there cannot be recognised. */
const UNSURE = 64;
/** Of what the provider echoes, a run of this many characters of ours is recognised. */
const RUN = 8;
/** In scripts that need few characters for a name, so many are enough. */
const DENSE_RUN = 3;
const MASK = '…';
const ADDRESS_LIKE = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+|https?:\/\/[^\s"'<>]+|xox[a-z]-[\w-]+|whsec_[\w+/=]+/gi;
const ESCAPED = /\\u([0-9a-f]{4})/gi;
const ACCENTED_WORD = /(?=[\p{L}\p{M}]*(?!\p{ASCII})[\p{L}\p{M}])[\p{L}\p{M}]{3,}/gu;

/**
 * The start of a provider's answer for the retry record, at most 300 characters. Providers like to echo what they
 * refuse: addresses, URLs and tokens are masked, and so is whatever of `ours` (recipient, subject, body, credential) it
 * repeats, as it is or JSON-escaped: runs of eight characters, or of three outside ASCII, words with a letter outside
 * ASCII, and the words of an address (design §7.9). The cost grows with their length, a few milliseconds for 256 KB.
 */
export function answerExcerpt(text: string, ours: readonly (string | undefined)[]): string {
  const own = ours.filter((one) => one !== undefined && one !== '').map(String);
  const start = text.slice(0, WINDOW).replace(ESCAPED, unescaped).replace(ADDRESS_LIKE, MASK);
  const known = [...own, ...own.map((one) => JSON.stringify(one)).filter((json, i) => json !== `"${own[i]}"`)];
  const masked = new Uint8Array(start.length);
  markRuns(start, known, RUN, (run) => run.trim() !== '', masked);
  markRuns(start, known, DENSE_RUN, isDense, masked);
  markWords(start, known, own, masked);
  const shown = text.length > WINDOW ? start.length - UNSURE : start.length;
  return wellFormed(withMasks(start.slice(0, shown), masked).slice(0, MAX_EXCERPT));
}

/** What ASCII cannot say is told in its own letters, so that an escaped echo is recognised. */
function unescaped(sequence: string, code: string): string {
  const unit = Number.parseInt(code, 16);
  return unit < 0x80 ? sequence : String.fromCharCode(unit);
}

/** Letters alone, each outside ASCII; a half of a surrogate pair counts as one. */
function isDense(run: string): boolean {
  return /^[^\p{ASCII}\p{P}\p{S}\p{Z}]+$/u.test(run);
}

/** Marks all runs of `size` characters of the text that occur in one of the known, in one pass over each of these. */
function markRuns(
  text: string,
  known: readonly string[],
  size: number,
  counts: (run: string) => boolean,
  masked: Uint8Array,
): void {
  const places = new Map<string, number[]>();
  // A run's outer characters, hashed: without a look at this the pass would have to cut each run out of the known.
  const outer = new Uint8Array(1 << 16);
  for (let at = 0; at + size <= text.length; at++) {
    const run = text.slice(at, at + size);
    if (!counts(run)) continue;
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

/** Words that are too short for a run. */
function markWords(text: string, known: readonly string[], own: readonly string[], masked: Uint8Array): void {
  for (const { index, 0: word } of text.matchAll(ACCENTED_WORD)) {
    if (known.some((one) => one.includes(word))) masked.fill(1, index, index + word.length);
  }
  for (const word of own.flatMap(wholeWords)) {
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

/** A mask, or the excerpt's end, may have cut a surrogate pair in two. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\ufffd', '');
}
