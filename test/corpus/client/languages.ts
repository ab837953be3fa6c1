/** What a page or a person asks for, the tags of the texts that there are, and which are shown; absent: the English ones. */
interface LanguageCase {
  readonly ranges: readonly string[];
  readonly tags: readonly string[];
  readonly tag?: string;
  readonly why: string;
}

export const LANGUAGES: readonly LanguageCase[] = [
  { ranges: ['pt-BR'], tags: ['pt-BR', 'pt'], tag: 'pt-BR', why: 'the tag itself' },
  { ranges: ['pt-PT'], tags: ['pt-BR', 'pt'], tag: 'pt', why: 'shortened (RFC 4647 §3.4)' },
  { ranges: ['pt'], tags: ['pt-BR'], why: 'a range is shortened, a tag is not (RFC 4647 §3.4)' },
  { ranges: ['zh-Hant-TW'], tags: ['zh', 'zh-Hant'], tag: 'zh-Hant', why: 'the longest that fits' },
  { ranges: ['zh-Hant-TW'], tags: ['zh-TW', 'zh'], tag: 'zh', why: 'nothing is left out in the middle' },
  { ranges: ['zh-TW'], tags: ['zh-Hant'], why: 'lookup knows no likely subtags' },
  { ranges: ['zh-Hant-CN-x-private1-private2'], tags: ['zh-Hant-CN'], tag: 'zh-Hant-CN', why: 'the example of §3.4' },
  { ranges: ['de-CH-1996'], tags: ['de-CH', 'de'], tag: 'de-CH', why: 'a variant (RFC 5646 §2.2.5)' },
  { ranges: ['en-a-bbb-x-a-ccc'], tags: ['en-a-bbb', 'en'], tag: 'en-a-bbb', why: 'an extension (RFC 5646 §2.2.6)' },
  { ranges: ['en-a-bbb'], tags: ['en-a', 'en'], tag: 'en', why: 'a single letter goes with what it introduces' },
  { ranges: ['de-u-co-phonebk'], tags: ['de'], tag: 'de', why: 'a locale of CLDR (RFC 6067)' },
  { ranges: ['x-pig-latin'], tags: ['x-pig-latin', 'x'], tag: 'x-pig-latin', why: 'private use' },
  { ranges: ['x-other'], tags: ['x'], tag: 'x', why: 'a tag that somebody gave all the same' },
  { ranges: ['i-klingon'], tags: ['i-klingon'], tag: 'i-klingon', why: 'a grandfathered tag (RFC 5646 §2.2.8)' },
  { ranges: ['fil'], tags: ['fi', 'fil-PH'], why: 'whole subtags only' },
  { ranges: ['PT-br'], tags: ['pt-BR'], tag: 'pt-BR', why: 'case says nothing (RFC 5646 §2.1.1)' },
  { ranges: ['pt-br'], tags: ['PT-BR'], tag: 'PT-BR', why: 'case of the texts neither' },
  { ranges: ['pt_BR'], tags: ['pt-BR'], tag: 'pt-BR', why: 'as Java and POSIX write it' },
  { ranges: ['pt-BR'], tags: ['pt_BR'], tag: 'pt_BR', why: 'in the texts, too' },
  { ranges: ['ja_JP.UTF-8'], tags: ['ja'], tag: 'ja', why: 'a locale of POSIX' },
  { ranges: ['en-US@posix'], tags: ['en'], tag: 'en', why: 'Chromium under LANG=C.UTF-8' },
  { ranges: [' fr '], tags: ['fr'], tag: 'fr', why: 'blanks around it' },
  { ranges: ['gsw', 'de-AT', 'fr'], tags: ['fr', 'de'], tag: 'de', why: 'ranges in their order' },
  { ranges: ['fr-CA', 'en'], tags: ['en', 'fr'], tag: 'fr', why: 'the first range, shortened, before the second' },
  { ranges: ['*'], tags: ['de'], why: 'a wildcard asks for the default' },
  { ranges: [], tags: ['de'], why: 'nothing is asked for' },
  { ranges: [''], tags: ['de', ''], why: 'an empty one is unknown (HTML)' },
  { ranges: ['-'], tags: ['de'], why: 'not a tag' },
  { ranges: ['--de'], tags: ['de'], why: 'not a tag' },
  { ranges: ['__proto__'], tags: ['de'], why: 'a property of every object' },
  { ranges: ['constructor'], tags: ['de'], why: 'likewise' },
];
