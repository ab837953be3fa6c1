import { createInterface } from 'node:readline/promises';
import { stripVTControlCharacters } from 'node:util';
import { type Colors, colorsFor } from './colors.ts';

/** Where a command's words go: results to stdout, all else to stderr, so that a script can read the former. */
export interface Terminal {
  readonly colors: Colors;
  /** Whether somebody is there to be asked. */
  readonly interactive: boolean;
  /** Whether progress may redraw its line. */
  readonly redraws: boolean;
  print(text: string): void;
  say(text: string): void;
  ask(question: string): Promise<string>;
  /** All of stdin, for what should not be on a command line. */
  readInput(): Promise<string>;
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  // The colours are stdout's; stderr may go to a file all the same.
  const shown = colorsFor(stderr).isColorSupported ? (text: string) => text : stripVTControlCharacters;
  return {
    colors: colorsFor(stdout),
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    redraws: stderr.isTTY === true,
    print: (text) => void stdout.write(text),
    say: (text) => void stderr.write(shown(text)),
    async ask(question) {
      const reader = createInterface({ input: stdin, output: stderr });
      try {
        return await reader.question(question);
      } finally {
        reader.close();
      }
    },
    async readInput() {
      let text = '';
      for await (const chunk of stdin.setEncoding('utf8')) text += chunk;
      return text.trim();
    },
  };
}
