/** Bytes by which files begin that are no text, or a text that says its encoding. */
const SIGNATURES: readonly (readonly [kind: string, bytes: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
  ['an Excel workbook (.xlsx) or another ZIP archive', [0x50, 0x4b, 0x03, 0x04]],
  ['an Excel workbook (.xls)', [0xd0, 0xcf, 0x11, 0xe0]],
  ['a compressed file (gzip)', [0x1f, 0x8b]],
];

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/**
 * How the text of a file is encoded: UTF-8 unless a byte order mark says UTF-16.
 * @param beginning its first four bytes or more
 * @returns what it is instead of a text, in words for people
 */
export function encodingOf(beginning: Uint8Array): { readonly encoding: Encoding } | { readonly not_text: string } {
  const [kind = 'utf-8'] = SIGNATURES.find(([, bytes]) => bytes.every((byte, i) => beginning[i] === byte)) ?? [];
  if (kind === 'utf-8' || kind === 'utf-16le' || kind === 'utf-16be') return { encoding: kind };
  return { not_text: kind };
}

/** Encodings that are not UTF-8, the strictest first: the last one reads any bytes. */
const OTHERS = [
  ['shift_jis', 'Shift_JIS'],
  ['euc-jp', 'EUC-JP'],
  ['windows-1252', 'Windows-1252 (ANSI)'],
] as const;

/** What bytes that are no UTF-8 probably are. */
export function likelyEncoding(bytes: Uint8Array): string {
  if (bytes.includes(0)) return 'UTF-16 without a byte order mark';
  // In Japanese text, letters follow one another; in a European one, each stands among ASCII letters.
  const runs = [
    ...Buffer.from(bytes)
      .toString('latin1')
      .matchAll(/[\x80-\xff]+[\x40-\x7e]?/g),
  ];
  const isJapanese = runs.some(([run = '']) => run.length >= 4);
  const [, name] =
    OTHERS.find(([label]) => (label === 'windows-1252' || isJapanese) && decodes(bytes, label)) ?? OTHERS[2];
  return name;
}

/** Whether the bytes are a text of the encoding. */
function decodes(bytes: Uint8Array, label: string): boolean {
  try {
    new TextDecoder(label, { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** The text of a whole file, without its byte order mark, or what it is instead. */
export function textOfFile(bytes: Uint8Array): { readonly text: string } | { readonly fault: string } {
  const found = encodingOf(bytes);
  if ('not_text' in found) return { fault: `is ${found.not_text}, no text` };
  if (!decodes(bytes, found.encoding)) return { fault: `is not UTF-8 but probably ${likelyEncoding(bytes)}` };
  const text = new TextDecoder(found.encoding).decode(bytes);
  return text.includes('\0') ? { fault: `is probably ${likelyEncoding(bytes)}` } : { text };
}
