import type { ComponentChildren } from 'preact';
import { JAPANESE_REMEDIES } from '../../src/core/model/language/japanese-remedies.ts';
import {
  type Blanks,
  filled,
  LANGUAGES,
  type Language,
  type Sentences,
  translator,
} from '../../src/core/model/language/sentences.ts';
import japanese from './ja.json' with { type: 'json' };
import fromServer from './ja-server.json' with { type: 'json' };

const KEY = 'console-language';
const preferred = navigator.languages ?? [navigator.language];
const languageOf = (tag: string | null) => LANGUAGES.find((one) => one === tag?.slice(0, 2).toLowerCase());

/** What was chosen here; else the first of the browser's languages that the console speaks. */
function chosen(): Language {
  try {
    const saved = languageOf(localStorage.getItem(KEY));
    if (saved !== undefined) return saved;
  } catch {
    // A browser that keeps nothing goes by its languages.
  }
  return preferred.map(languageOf).find((one) => one !== undefined) ?? 'en';
}

/** It stays until the page is loaded again, so that sentences can be constants. */
export const language: Language = chosen();

export function switchLanguage(to: Language): void {
  try {
    localStorage.setItem(KEY, to);
  } catch {
    // It stays as it was.
  }
  location.reload();
}

function isUsable(tag: string): boolean {
  try {
    return new Intl.NumberFormat(tag).format(0) !== '';
  } catch {
    return false;
  }
}

/** The browser's own region of the language. A browser may name one that its `Intl` refuses, such as `en-US@posix`. */
export const locale =
  preferred.find((tag) => languageOf(tag) === language && isUsable(tag)) ?? { en: 'en-GB', ja: 'ja-JP' }[language];

// The library of the charts formats by it as soon as it is imported, so main.tsx imports this module before every other.
if (!isUsable(navigator.language)) Object.defineProperty(navigator, 'language', { value: locale, configurable: true });

const SENTENCES: Sentences = language === 'ja' ? japanese : {};

type Values<S extends string, T> = [Blanks<S>] extends [never] ? [] : [values: Readonly<Record<Blanks<S>, T>>];

/** A sentence in the language of the page, or in English as long as it has none: `t('{n} of {total}', { n, total })`. */
export function t<S extends string>(english: S, ...[values]: Values<S, string | number>): string {
  return filled<string | number>(SENTENCES[english] ?? english, values ?? {}).join('');
}

/** The same with elements in it, in the order of the language. */
export function rich<S extends string>(english: S, values: Readonly<Record<Blanks<S>, ComponentChildren>>) {
  return filled<ComponentChildren>(SENTENCES[english] ?? english, values);
}

/** A text that the server composed in English, such as a remedy. */
export const said: (english: string) => string =
  language === 'ja' ? translator({ ...JAPANESE_REMEDIES, ...fromServer }) : (english) => english;

const NUMBERS = new Intl.NumberFormat(language);

/** `1,234` */
export const count = (value: number): string => NUMBERS.format(value);

const RULES = { own: new Intl.PluralRules(language), en: new Intl.PluralRules('en') };

/** `1 letter moved`, `2 letters moved`. Another language has its sentence under the plural one: `{n} letters moved`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  const own = SENTENCES[`{n} ${RULES.own.select(value) === 'one' ? one : many}`];
  const english = `{n} ${RULES.en.select(value) === 'one' ? one : many}`;
  return filled(own ?? english, { n: count(value) }).join('');
}
