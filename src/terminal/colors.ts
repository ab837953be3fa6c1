import { randomBytes } from 'node:crypto';
import type { WriteStream } from 'node:tty';
import pc from 'picocolors';

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

export type Colors = Readonly<Record<(typeof STYLES)[number], (text: string | number) => string>>;

/** Nobody who writes a text that is printed knows it, so nobody can forge a colour of ours. */
const SECRET = randomBytes(8).toString('hex');

/** A colour of ours as `COLORS` writes it; its group is what comes after the escape character. */
export const MARKED_COLOR = new RegExp(`\\x1b${SECRET}(\\[\\d+m)`, 'g');

/**
 * Colours for text that is printed through a `Terminal`. They are marked as ours: the terminal shows them if its stream
 * shows colours, and takes every other escape sequence for a text of someone else.
 */
export const COLORS = Object.fromEntries(
  STYLES.map((style) => [style, marked(pc.createColors(true)[style])]),
) as Colors;

function marked(format: (text: string) => string): (text: string | number) => string {
  const [open = '', close = ''] = format('\0').replaceAll('\x1b', `\x1b${SECRET}`).split('\0');
  return (text) => `${open}${text}${close}`;
}

/** Whether a stream shows colours. One that is no terminal, or NO_COLOR, shows none. */
export function showsColors(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>): boolean {
  return stream.isTTY === true && stream.hasColors?.() === true;
}
