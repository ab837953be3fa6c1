import type { WriteStream } from 'node:tty';
import pc from 'picocolors';

export type Colors = ReturnType<typeof pc.createColors>;

/** Colours for the text that goes to a stream. A stream that shows no colours, or NO_COLOR, gives none. */
export function colorsFor(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>): Colors {
  return pc.createColors(stream.isTTY === true && stream.hasColors?.() === true);
}
