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

/** Many scripts outside ASCII have no spaces between words: their words are found anywhere, from two characters on. */
function patterns(words: readonly string[], flags: string): RegExp[] {
  return words.flatMap((word) => {
    const ascii = /^\p{ASCII}*$/u.test(word);
    if (word.length < (ascii ? SHORTEST_PART : 2)) return [];
    const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    return [new RegExp(ascii ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal, flags)];
  });
}
