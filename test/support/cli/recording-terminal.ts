import { COLORS, printable } from '../../../src/terminal/printable.ts';
import type { Terminal } from '../../../src/terminal/terminal.ts';

export interface TerminalScript {
  /** The answer to a question. The terminal is interactive only if there is one. */
  readonly answer?: string;
  /** All of stdin. */
  readonly input?: string;
  /** What another process does while the operator thinks about the answer. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** A terminal without colours that records what a command writes: `out` to stdout, `err` to stderr. */
export function recordingTerminal({ answer, input = '', meanwhile }: TerminalScript) {
  const written = { out: '', err: '' };
  const terminal: Terminal = {
    colors: COLORS,
    interactive: answer !== undefined,
    screen: undefined,
    print: (text) => {
      written.out += printable(text, false);
    },
    say: (text) => {
      written.err += printable(text, false);
    },
    ask: async (question) => {
      written.err += printable(question, false);
      await meanwhile?.();
      return answer ?? '';
    },
    readInput: async () => input,
  };
  return { terminal, written };
}
