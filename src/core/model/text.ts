const HALF_AT_END = /[\ud800-\udbff]$/;

/**
 * At most the first `length` UTF-16 units of a text, without half of a surrogate pair at the cut: DynamoDB refuses such
 * a text, and with it the whole batch of writes.
 */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(HALF_AT_END, '');
}

/** The text, shortened to at most `length` UTF-16 units; an ellipsis marks the cut. No half of a surrogate pair is left. */
export function clip(text: string, length: number): string {
  return (text.length <= length ? text : `${beginning(text, length - 1)}…`).toWellFormed();
}

/** The object in a JSON text, with a byte order mark or without; undefined for any other text. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Also as URLs, HTML and keyboards for Japanese write the sign. */
const AT = '(?:@|%(?:25)*40|&#(?:0*64|x0*40);|&commat;|\\uff20|\\ufe6b)';
const PART = '[^\\s"\'<>(),;:]';
/** What looks like an address or a URL. From the beginning of a word only, or a long word would be read once per character. */
export const ADDRESS_LIKE = new RegExp(`(?<!${PART})${PART}+${AT}${PART}+|https?://[^\\s"'<>]+`, 'gi');

/** A text of another system, in which addresses are masked. JSON stays JSON. */
export const withoutAddresses = (text: string): string => text.replace(ADDRESS_LIKE, '…');

const PROVIDERS_WORDS = ['error_message', 'response_message', 'error_details'] as const;

/** Of what a row or a record keeps of providers' words, those that name addresses, with these masked. */
export function maskedWords(of: Readonly<Partial<Record<(typeof PROVIDERS_WORDS)[number], unknown>>>) {
  return Object.fromEntries(
    PROVIDERS_WORDS.flatMap((name) => {
      const text = of[name];
      const masked = typeof text === 'string' ? withoutAddresses(text) : undefined;
      return masked === undefined || masked === text ? [] : [[name, masked] as const];
    }),
  );
}

/** A row's value by another program, for people or pages: not a map, list or set, which may hold an address. */
export function shownText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return Object(value) === value ? '(neither text nor number)' : String(value);
}

/** The entry under a text that anyone may have stored: `constructor` and other properties are no entries. */
export function entryOf<V>(table: Readonly<Record<string, V>>, key: unknown): V | undefined {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A write is charged by the started kilobyte of its whole item. */
const WRITE_UNIT = 1024;
/** Of a map or list, and of each of its entries. */
const CONTAINER_BYTES = 3;

/** Bytes of a row as DynamoDB counts them: names and values in UTF-8, a number a byte per two digits plus one. */
export function rowBytes(row: object): number {
  return Object.entries(row).reduce(
    (sum, [name, value]) => sum + (value === undefined ? 0 : utf8Bytes(name) + valueBytes(value)),
    0,
  );
}

/** Bytes that are left of the write unit in which a row of `bytes` ends. */
export const roomLeft = (bytes: number): number => Math.ceil(bytes / WRITE_UNIT) * WRITE_UNIT - bytes;

export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Half of a surrogate pair counts two of its four bytes.
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return utf8Bytes(value);
  if (typeof value === 'number') return Math.ceil(String(value).replace(/\D/g, '').length / 2) + 1;
  if (typeof value !== 'object' || value === null) return 1;
  return CONTAINER_BYTES + Object.keys(value).length + rowBytes(value);
}
