import { randomBytes } from 'node:crypto';
import type { WriteStream } from 'node:tty';
import pc from 'picocolors';

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

export type Colors = Readonly<Record<(typeof STYLES)[number], (text: string | number) => string>>;

/** Nobody who writes a text that is printed knows it, so nobody can forge a colour of ours. */
const SECRET = randomBytes(8).toString('hex');

/** A colour of ours as `COLORS` writes it; its group is what comes after the escape character. */
const MARKED_COLOR = new RegExp(`\\x1b${SECRET}(\\[\\d+m)`, 'g');

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

/**
 * Characters that a terminal obeys or hides instead of showing them: control characters, those that change the
 * direction of text, line and paragraph separators, invisible spaces and tags. Joiners are left: scripts and emoji need
 * them.
 */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u2060\ufeff\u{E0000}-\u{E007F}]/gu;

/** One character as JSON escapes it, so that a JSON text keeps its meaning. */
function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');
}

/**
 * A text as it may be written to a terminal: whoever wrote a value in it can neither move the cursor nor change what
 * the operator reads. Line breaks, tabs and our own colours pass.
 * @param colored whether the stream shows colours; otherwise ours are left out
 */
export function printable(text: string, colored: boolean): string {
  const parts = text.split(MARKED_COLOR);
  // Between the texts are the colours, for the expression has a group.
  return parts
    .map((part, i) => {
      if (i % 2 === 1) return colored ? `\x1b${part}` : '';
      return part.replace(HIDDEN, (character) =>
        character === '\n' || character === '\t' ? character : escaped(character),
      );
    })
    .join('');
}

/** A value of someone else that has to stay in its line and column: line breaks and tabs become visible, too. */
export const printableValue = (value: string): string => value.replace(HIDDEN, escaped);
