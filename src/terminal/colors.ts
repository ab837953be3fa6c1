import type { WriteStream } from 'node:tty';
import pc from 'picocolors';

export type Colors = ReturnType<typeof pc.createColors>;

/** Colours for what is written to this stream: none unless it is a terminal that shows them (NO_COLOR is respected). */
export function colorsFor(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>): Colors {
  return pc.createColors(stream.isTTY === true && stream.hasColors?.() === true);
}
