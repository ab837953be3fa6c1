import { Presets, SingleBar } from 'cli-progress';
import type { Outcomes } from '../../core/sweep/await-outcomes.ts';

/** What a run tells while it works. */
export interface RetryJobProgress {
  dispatched(count: number): void;
  settled(outcomes: Outcomes, open: number): void;
  /** A line that stays. */
  note(line: string): void;
  /** Leaves the terminal as it was found; more often than once does no harm. */
  end(): void;
}

/** No progress, notes alone: for output that a program reads. */
export function notesOnly(stream: NodeJS.WritableStream): RetryJobProgress {
  return { dispatched() {}, settled() {}, note: (line) => void stream.write(`${line}\n`), end() {} };
}

/** Progress on stderr: a bar on a terminal; elsewhere a line now and then, so that a log shows life. */
export function terminalProgress(stream: NodeJS.WriteStream): RetryJobProgress {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

const CLEAR_LINE = '\r\x1b[K';

function barProgress(stream: NodeJS.WriteStream): RetryJobProgress {
  const format = ' {bar} {value}/{total} settled · {summary}';
  const bar = new SingleBar({ stream, format, hideCursor: true, clearOnComplete: true }, Presets.shades_classic);
  let running = false;
  let unfinishedLine = false;
  const clear = () => {
    if (unfinishedLine) stream.write(CLEAR_LINE);
    unfinishedLine = false;
  };
  return {
    dispatched(count) {
      stream.write(`\r dispatched ${count}`);
      unfinishedLine = true;
    },
    settled(outcomes, open) {
      const done = total(outcomes);
      if (!running) {
        clear();
        bar.start(done + open, done, { summary: '' });
        running = true;
      }
      bar.update(done, { summary: summary(outcomes) });
    },
    note(line) {
      // The bar draws itself again below.
      stream.write(`${CLEAR_LINE}${line}\n`);
      unfinishedLine = false;
    },
    end() {
      if (running) bar.stop();
      running = false;
      clear();
    },
  };
}

const LINE_EVERY_MS = 5_000;

function lineProgress(stream: NodeJS.WriteStream): RetryJobProgress {
  let last = Date.now();
  return {
    ...notesOnly(stream),
    settled(outcomes, open) {
      if (open > 0 && Date.now() - last < LINE_EVERY_MS) return;
      last = Date.now();
      const settled = total(outcomes);
      stream.write(`${settled} settled, ${open} open${settled > 0 ? `: ${summary(outcomes)}` : ''}\n`);
    },
  };
}

function total(outcomes: Outcomes): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0);
}

function summary(outcomes: Outcomes): string {
  return Object.entries(outcomes)
    .map(([status, count]) => `${status} ${count}`)
    .join(' · ');
}
