import pc from 'picocolors';
import type { Terminal } from '../../../src/terminal/terminal.ts';

export interface TerminalScript {
  /** What is typed when a command asks; somebody is there only if it is given. */
  readonly answer?: string;
  /** All of stdin. */
  readonly input?: string;
  /** Done by another process while the operator thinks about the answer. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** A terminal without colours, and what a command has written to it: `out` to stdout, `err` to stderr. */
export function recordingTerminal({ answer, input = '', meanwhile }: TerminalScript) {
  const written = { out: '', err: '' };
  const terminal: Terminal = {
    colors: pc.createColors(false),
    interactive: answer !== undefined,
    screen: undefined,
    print: (text) => {
      written.out += text;
    },
    say: (text) => {
      written.err += text;
    },
    ask: async (question) => {
      written.err += question;
      await meanwhile?.();
      return answer ?? '';
    },
    readInput: async () => input,
  };
  return { terminal, written };
}
