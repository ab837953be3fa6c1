import { type ClassificationRule, classify } from '../../core/delivery/policy/classification.ts';
import type { Delivery, Refused, SendResult } from '../../core/delivery/ports.ts';
import { ADDRESS_LIKE } from '../../core/model/text.ts';
import {
  type HttpAnswer,
  NetworkFault,
  parseRetryAfter,
  refusedTarget,
  TargetRefusedError,
} from './network-classification.ts';

export interface AnswerContext {
  /** Who answered, as the subject of the message: "the endpoint". */
  readonly who: string;
  readonly delivery: Delivery;
  readonly rules: readonly ClassificationRule[];
  /** The error code of the provider, if the answer has one. */
  readonly code?: string | undefined;
  /** The credentials and the URL that were used; an echo of them is not recorded. */
  readonly secrets?: readonly (string | undefined)[];
}

/** Classifies an answer that is not an acceptance. `Retry-After` counts from the time of the attempt. */
export function refusalOf(answer: HttpAnswer, { code, ...context }: AnswerContext): Refused {
  const { who, delivery, rules } = context;
  const text = excerptOf(answer.text, context);
  const retryAfter = parseRetryAfter(answer.headers['retry-after'], delivery.at);
  // RFC 9110 §15: a status outside 100 to 599 counts as a server's fault.
  const status = answer.status >= 100 && answer.status <= 599 ? answer.status : 500;
  return {
    ok: false,
    error_type: classify({ status, ...(code && { code }), text: answer.text.slice(0, 2000) }, rules),
    response_code: String(answer.status),
    message: `${who} answered ${answer.status}${code ? ` ${code}` : ''}`,
    ...(retryAfter !== undefined && { retry_after_ms: retryAfter }),
    details: { status: answer.status, ...(code && { code }), ...(text && { text }) },
  };
}

function excerptOf(text: string, { delivery, secrets = [] }: Pick<AnswerContext, 'delivery' | 'secrets'>): string {
  const { subject, body, recipient } = delivery.content;
  return answerExcerpt(text, [...secrets, recipient, subject, body]);
}

/** Classifies the lack of an answer. @throws what is neither NetworkFault nor TargetRefusedError: our defect */
export function faultRefusal(error: unknown, context: Omit<AnswerContext, 'who' | 'code'>): Refused {
  if (error instanceof TargetRefusedError) {
    return { ...refusedBy(error, context), message: refusedTarget(error.message) };
  }
  if (!(error instanceof NetworkFault)) throw error;
  return refusedBy(error, context);
}

function refusedBy(error: NetworkFault | TargetRefusedError, context: Omit<AnswerContext, 'who' | 'code'>): Refused {
  const { code, message } = error;
  const text = 'came' in error && error.came !== undefined ? excerptOf(error.came, context) : '';
  return {
    ok: false,
    error_type: classify({ code }, context.rules),
    message,
    details: { code, ...(text && { text }) },
  };
}

/** What the text of an answer with a status of success says; undefined: it was cut off, or is of an unknown form. */
export type TextVerdict = 'accepted' | 'failed' | undefined;

/** What the text leaves open counts as accepted and is marked: a second post of an accepted message would be worse. */
export function acceptanceOf({ status, complete }: HttpAnswer, verdict: TextVerdict) {
  const why = complete ? 'of unknown form' : 'cut off';
  const isClear = verdict === 'accepted' && complete;
  return {
    ok: true,
    response_code: String(status),
    ...(!isClear && { response_message: `unclear: the answer was ${why}; it counts as accepted` }),
  } satisfies SendResult;
}

/** About what a retry record has room for beside its other columns (retry-record.ts). */
const MAX_EXCERPT = 450;
/** Characters of an answer that are examined. They exceed the excerpt because masking shortens the text. */
const WINDOW = 3 * MAX_EXCERPT;
/** Characters at the end of the window that are not shown of a longer answer: a cut value cannot be recognised. */
const CUT_OFF = 64;
/** The shortest run of characters of our own values that is recognised in the answer. */
const RUN = 8;
/** The same in scripts that need few characters for a name. */
const DENSE_RUN = 3;
const MASK = '…';
const CREDENTIAL = /xox[a-z]-[\w-]+|whsec_[\w+/=]+/gi;
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
  const start = text.slice(0, WINDOW).replace(ESCAPED, unescaped).replace(ADDRESS_LIKE, MASK).replace(CREDENTIAL, MASK);
  const known = [...values, ...values.map((one) => JSON.stringify(one)).filter((json, i) => json !== `"${values[i]}"`)];
  const masked = new Uint8Array(start.length);
  markRuns(start, known, RUN, (run) => run.trim() !== '', masked);
  markRuns(start, known, DENSE_RUN, isDense, masked);
  markWords(start, known, values, masked);
  const shown = text.length > WINDOW ? start.length - CUT_OFF : start.length;
  return wellFormed(withMasks(start.slice(0, shown), masked).slice(0, MAX_EXCERPT));
}

/** Escaped letters outside ASCII and `@` become themselves, so that an escaped echo is recognised. */
function unescaped(sequence: string, code: string): string {
  const unit = Number.parseInt(code, 16);
  return unit < 0x80 && unit !== 0x40 ? sequence : String.fromCharCode(unit);
}

/** Only letters outside ASCII. Half a surrogate pair counts as a letter. */
const isDense = (run: string): boolean => /^[^\p{ASCII}\p{P}\p{S}\p{Z}]+$/u.test(run);

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
const wellFormed = (text: string): string => text.toWellFormed().replaceAll('\ufffd', '');

/** Most characters of a name. Longer texts are sentences, and their words identify nobody. */
const LONGEST_NAME = 100;
/**
 * Most characters of recipient_address (his-notification-log-table.md). Longer texts are not searched for addresses.
 */
const LONGEST_RECIPIENT = 500;
const ADDRESS = /([^\s"'<>(),;:@]+)@([^\s"'<>(),;:@]+)/g;
/** Shorter parts of an address, such as `jp` and `co`, identify nobody and would mask half of every answer. */
const SHORTEST_PART = 3;
const SHORTEST_LABEL = 4;

/**
 * Patterns of whole words that identify a recipient but are too short to be recognised as a run: a text without spaces,
 * with and without a leading `#` or `@`. Of an e-mail address: the local part and its parts, the domain and its labels
 * except the last, upper or lower case.
 */
function wholeWords(text: string): RegExp[] {
  if (text.length > LONGEST_RECIPIENT) return [];
  const addresses = [...text.matchAll(ADDRESS)];
  if (addresses.length > 0) {
    return addresses.flatMap(([, local = '', domain = '']) => patterns(partsOf(local, domain), 'giu'));
  }
  const name = text.trim();
  const isName = name.length <= LONGEST_NAME && !/\s|:\/\//.test(name);
  return isName ? patterns([name, name.replace(/^[#@]+/, '')], 'gu') : [];
}

function partsOf(local: string, domain: string): string[] {
  const parts = local.split(/[._+-]/).filter((part) => part.length >= SHORTEST_PART);
  const labels = domain.split('.').slice(0, -1);
  return [local, ...parts, domain, ...labels.filter((label) => label.length >= SHORTEST_LABEL)];
}

/** Many scripts outside ASCII have no spaces between words: their words are found anywhere, from two characters on. */
function patterns(words: readonly string[], flags: string): RegExp[] {
  return words.flatMap((word) => {
    const ascii = /^\p{ASCII}*$/u.test(word);
    if (word.length < (ascii ? SHORTEST_PART : 2)) return [];
    const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    return [new RegExp(ascii ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal, flags)];
  });
}
