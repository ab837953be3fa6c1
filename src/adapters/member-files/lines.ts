import { encodingOf, likelyEncoding } from '../content/text-encoding.ts';
import { MemberFileError } from './cells.ts';

/** Longest line in characters. A member with 100 labels and 50 newsletters needs 15,000. */
export const MAX_LINE = 65_536;

export interface Line {
  /** From 1, as editors count. */
  readonly number: number;
  /** Without its end. At most the beginning of a line that is too long. */
  readonly text: string;
  readonly tooLong: boolean;
  /** It is not UTF-8, but probably this encoding. */
  readonly encoding?: string;
  /** The lines that it was joined from, where a value may have line breaks. */
  readonly parts?: readonly Line[];
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * The lines of a file in UTF-8 or UTF-16, whichever of LF, CRLF and CR ends them. Memory is bounded by the longest line.
 * @throws MemberFileError when it is no text
 */
export async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let open: Uint8Array[] = [];
  let length = 0;
  let end: number | undefined;

  const toLine = (): Line => {
    number += 1;
    const whole = open.length === 1 && open[0] !== undefined ? open[0] : Buffer.concat(open);
    const line = whole.at(-1) === CR ? whole.subarray(0, -1) : whole;
    const tooLong = length > 4 * MAX_LINE;
    open = [];
    length = 0;
    try {
      const text = decoder.decode(line);
      return { number, text: text.slice(0, MAX_LINE), tooLong: tooLong || text.length > MAX_LINE };
    } catch {
      const text = line.toString().slice(0, MAX_LINE);
      return tooLong ? { number, text, tooLong } : { number, text, tooLong, encoding: likelyEncoding(line) };
    }
  };
  const add = (piece: Uint8Array) => {
    // Of a line that is too long, no more is kept than shows that it is.
    if (length <= 4 * MAX_LINE) open.push(piece);
    length += piece.length;
  };

  for await (const chunk of inUtf8(bytes)) {
    let rest: Uint8Array = chunk;
    end ??= lineEndOf(rest);
    for (let at = rest.indexOf(end ?? LF); at !== -1; at = rest.indexOf(end ?? LF)) {
      add(rest.subarray(0, at));
      yield toLine();
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) add(rest);
  }
  if (length > 0) yield toLine();
}

/** CR where the first line ends by it alone, as on old Macs (Python on Windows writes CR CR LF); undefined before its end. */
function lineEndOf(chunk: Uint8Array): number | undefined {
  const at = chunk.findIndex((byte) => byte === LF || byte === CR);
  const next = chunk.subarray(at).find((byte) => byte !== CR);
  if (at === -1 || next === undefined) return undefined;
  return chunk[at] === CR && next !== LF ? CR : LF;
}

/**
 * Refuses a file in an encoding of Japanese before any line of it is stored: some of its names are valid UTF-8 by
 * accident, and would be stored as other signs. @throws MemberFileError
 */
export async function refuseJapaneseEncodings(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const { number, encoding = '' } of readLines(bytes)) {
    if (!JAPANESE.includes(encoding)) continue;
    throw new MemberFileError(
      `The file is not UTF-8: save it as CSV in UTF-8. Line ${number} is probably ${encoding}.`,
    );
  }
}

const JAPANESE = ['Shift_JIS', 'EUC-JP'];

/** The bytes of the text in UTF-8, in chunks that begin with what tells its encoding. @throws MemberFileError */
async function* inUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let beginning = Buffer.alloc(0);
  let decode: ((chunk: Uint8Array) => Buffer) | undefined;
  for await (const chunk of bytes) {
    if (decode !== undefined) {
      yield decode(chunk);
      continue;
    }
    beginning = Buffer.concat([beginning, chunk]);
    // The first line shows what ends lines, also where a chunk ends between CR and LF.
    if (beginning.length < 4 || (lineEndOf(beginning) === undefined && beginning.length < MAX_LINE)) continue;
    decode = decoderFor(beginning);
    yield decode(beginning);
  }
  if (decode === undefined) yield decoderFor(beginning)(beginning);
}

function decoderFor(beginning: Uint8Array): (chunk: Uint8Array) => Buffer {
  const found = encodingOf(beginning);
  if ('not_text' in found) {
    throw new MemberFileError(`The file is ${found.not_text}: save it as CSV in UTF-8.`);
  }
  if (found.encoding === 'utf-8') return (chunk) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const decoder = new TextDecoder(found.encoding);
  return (chunk) => Buffer.from(decoder.decode(chunk, { stream: true }));
}
