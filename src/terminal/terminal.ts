import { createInterface } from 'node:readline/promises';
import { EXIT_FAILED } from './errors.ts';
import { COLORS, type Colors, printable, showsColors } from './printable.ts';

/**
 * Where a command writes: results to stdout and everything else to stderr, so that a script can read the results. What
 * it writes may quote anyone (ids, names, answers of providers), so control characters become visible
 * (docs/decisions/operators/rights-and-output.md#0087).
 */
export interface Terminal {
  readonly colors: Colors;
  /** Whether a person can answer a question. */
  readonly interactive: boolean;
  /** Stderr if it is a terminal: progress rewrites its line there. */
  readonly screen: NodeJS.WriteStream | undefined;
  print(text: string): void;
  say(text: string): void;
  ask(question: string): Promise<string>;
  /** Reads all of stdin, for values that must not appear on a command line. */
  readInput(): Promise<string>;
}

/** @param streams those of this process unless a test gives its own */
export function processTerminal(streams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'> = process): Terminal {
  const { stdin, stdout, stderr } = streams;
  const toStderr = (text: string) => printable(text, showsColors(stderr));
  const say = (text: string) => void stderr.write(toStderr(text));
  const print = printer(stdout, say);
  // Of what is wrong with stderr nobody can be told.
  stderr.on('error', () => {});
  return {
    colors: COLORS,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    screen: stderr.isTTY === true ? stderr : undefined,
    print,
    say,
    async ask(question) {
      const reader = createInterface({ input: stdin, output: stderr });
      try {
        return await reader.question(toStderr(question));
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

/**
 * Prints to stdout. A reader that has seen enough (`| head`) closes the pipe: what the command does goes on, and has its
 * exit code. What stdout does not take for another reason, as on a full disk, goes to stderr: a key is made, and shown
 * only once.
 */
function printer(stdout: NodeJS.WriteStream, say: (text: string) => void): (text: string) => void {
  let state: 'open' | 'closed by its reader' | 'broken' = 'open';
  const onError = (error: NodeJS.ErrnoException, text: string) => {
    if (state === 'open' && error.code === 'EPIPE') state = 'closed by its reader';
    if (state === 'closed by its reader') return;
    if (state === 'open') {
      say(`The output cannot be written to stdout (${error.code ?? error.message}). It is:\n`);
      // The command sets its own exit code after it has printed.
      process.once('exit', () => {
        process.exitCode ||= EXIT_FAILED;
      });
    }
    state = 'broken';
    say(text);
  };
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && state === 'open') throw error;
  });
  return (text) => {
    stdout.write(printable(text, showsColors(stdout)), (error) => error && onError(error, text));
  };
}
