import { MARKED_COLOR } from './colors.ts';

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
