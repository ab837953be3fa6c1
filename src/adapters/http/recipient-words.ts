/** Longer texts are sentences: their words are anybody's. */
const LONGEST_NAME = 100;
/** his-notification-log-table.md, recipient_address: longer texts are searched for no addresses. */
const LONGEST_RECIPIENT = 500;
const ADDRESS = /([^\s"'<>(),;:@]+)@([^\s"'<>(),;:@]+)/g;
/** Shorter parts of an address, such as `jp` and `co`, would mask half of every answer and tell nobody. */
const SHORTEST_PART = 3;
const SHORTEST_LABEL = 4;

/**
 * What tells of a recipient although it is too short to be recognised as a run, to be looked for as whole words: a text
 * without spaces itself and its letters without `#` and `@`; of an e-mail address, in any case, the local part and its
 * parts, the domain and its labels but for the last.
 */
export function wholeWords(text: string): RegExp[] {
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

/** Scripts outside ASCII put no spaces between words, so that their words are looked for anywhere, from two characters. */
function patterns(words: readonly string[], flags: string): RegExp[] {
  return words.flatMap((word) => {
    const ascii = /^\p{ASCII}*$/u.test(word);
    if (word.length < (ascii ? SHORTEST_PART : 2)) return [];
    const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    return [new RegExp(ascii ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal, flags)];
  });
}
