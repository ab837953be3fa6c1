/** Longest line in characters. A member with 100 labels and 50 newsletters needs 15,000. */
export const MAX_LINE = 65_536;

export interface Line {
  /** From 1, as editors count. */
  readonly number: number;
  /** Without its end. At most the beginning of a line that is too long. */
  readonly text: string;
  readonly tooLong: boolean;
}

/** The lines of a file in UTF-8, with or without a byte order mark. Memory is bounded by the longest line allowed. */
export async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let number = 0;
  let open = '';
  let tooLong = false;
  const toLine = (): Line => {
    number += 1;
    const line = { number, text: open.endsWith('\r') ? open.slice(0, -1) : open, tooLong };
    open = '';
    tooLong = false;
    return line;
  };
  const add = (text: string) => {
    tooLong ||= open.length + text.length > MAX_LINE;
    open = tooLong ? open.slice(0, 100) : open + text;
  };
  for await (const chunk of bytes) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n');
    add(first);
    for (const text of rest) {
      yield toLine();
      add(text);
    }
  }
  add(decoder.decode());
  if (open !== '' || tooLong) yield toLine();
}
