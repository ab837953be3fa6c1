import { type Params, SingleBar } from 'cli-progress';
import type { Output } from './output.ts';
import { COLORS, printable, printableValue, showsColors } from './printable.ts';
import { cut } from './table.ts';
import type { Terminal } from './terminal.ts';

/** How far a piece of work is. */
export interface Count {
  /** What happens to each of the things that are counted: `moved`. */
  readonly verb: string;
  readonly done: number;
  /** Undefined as long as nobody knows it. */
  readonly total?: number | undefined;
  /** Details of what is done. */
  readonly summary?: string;
  /** The work is complete: the count is shown even if another one was shown a moment ago. */
  readonly complete?: boolean;
}

/** What a command shows on stderr while it works. */
export interface Progress {
  /** Names the current step. */
  step(text: string): void;
  update(count: Count): void;
  /** Writes a line that stays. */
  note(line: string): void;
  /** Leaves the terminal as it was before. A second call does nothing. */
  end(): void;
}

/** A bar on a terminal, a line now and then elsewhere, as a sign of life in a log, and notes alone with --json. */
export function showProgress({ terminal, json }: Output): Progress {
  if (json) return notesOnly(terminal);
  return terminal.screen === undefined ? lines(terminal) : redrawn(terminal.screen);
}

/** Shows progress as long as the work runs: the terminal is as it was before once there is a result, or an error. */
export async function withProgress<T>(output: Output, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = showProgress(output);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

function notesOnly({ say }: Terminal): Progress {
  return { step() {}, update() {}, note: (line) => say(`${line}\n`), end() {} };
}

const LINE_EVERY_MS = 5_000;

function lines(terminal: Terminal): Progress {
  const write = (line: string) => terminal.say(`${line}\n`);
  let last = Date.now();
  return {
    step: write,
    update(count) {
      if (!count.complete && Date.now() - last < LINE_EVERY_MS) return;
      last = Date.now();
      write(`${textOf(count)}${count.summary ? `: ${count.summary}` : ''}`);
    },
    note: write,
    end() {},
  };
}

const CLEAR_LINE = '\r\x1b[K';

/** One line that is rewritten: the current step, a count, or a bar once the total is known. */
function redrawn(screen: NodeJS.WriteStream): Progress {
  // A narrow terminal has a shorter bar: it would cut the last count otherwise.
  const format = (_: unknown, { progress, maxWidth }: Params, { text }: { readonly text: string }) => {
    const places = Math.max(5, Math.min(40, maxWidth - text.length - 2));
    return ` ${'█'.repeat(Math.round(progress * places)).padEnd(places, '░')} ${text}`;
  };
  const bar = new SingleBar({ stream: screen, format, hideCursor: true, clearOnComplete: true });
  let shown: 'nothing' | 'text' | 'bar' = 'nothing';
  const show = (text: string) => printable(text, showsColors(screen));
  const clear = () => {
    if (shown === 'bar') bar.stop();
    if (shown === 'text') screen.write(CLEAR_LINE);
    shown = 'nothing';
  };
  const showText = (mark: string, text: string) => {
    if (shown === 'bar') clear();
    screen.write(`${CLEAR_LINE}${mark} ${cut(printableValue(text), Math.max(20, (screen.columns || 80) - 3))}`);
    shown = 'text';
  };
  const showBar = ({ verb, done, summary }: Count, total: number) => {
    const text = printableValue(`${verb} ${done}/${Math.max(total, done)}${summary ? ` · ${summary}` : ''}`);
    if (shown === 'text') clear();
    if (shown === 'nothing') bar.start(total, done, { text });
    shown = 'bar';
    bar.setTotal(Math.max(total, done));
    bar.update(done, { text });
  };
  return {
    step: (text) => showText(show(COLORS.cyan('•')), text),
    update: (count) => (count.total === undefined ? showText('', textOf(count)) : showBar(count, count.total)),
    note(line) {
      // The bar draws itself again below.
      screen.write(`${CLEAR_LINE}${show(line)}\n`);
      if (shown === 'text') shown = 'nothing';
    },
    end: clear,
  };
}

function textOf({ verb, done, total }: Count): string {
  return `${verb} ${done}${total === undefined ? '' : ` of ${total}`}`;
}
