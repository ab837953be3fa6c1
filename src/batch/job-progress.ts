import { Presets, SingleBar } from 'cli-progress';
import type { Outcomes } from '../core/await-outcomes.ts';

export interface JobProgress {
  dispatched(count: number): void;
  settled(outcomes: Outcomes, open: number): void;
  end(): void;
}

export const silentProgress: JobProgress = { dispatched() {}, settled() {}, end() {} };

/** Progress on stderr: a bar on a terminal; elsewhere a line now and then, so that a log shows life. */
export function terminalProgress(stream: NodeJS.WriteStream): JobProgress {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

function barProgress(stream: NodeJS.WriteStream): JobProgress {
  const format = ' {bar} {value}/{total} settled · {summary}';
  const bar = new SingleBar({ stream, format, hideCursor: true, clearOnComplete: true }, Presets.shades_classic);
  let running = false;
  return {
    dispatched: (count) => void stream.write(`\r dispatched ${count}`),
    settled(outcomes, open) {
      const done = total(outcomes);
      if (!running) {
        stream.write('\r\x1b[K');
        bar.start(done + open, done, { summary: '' });
        running = true;
      }
      bar.update(done, { summary: summary(outcomes) });
    },
    end() {
      if (running) bar.stop();
      else stream.write('\r\x1b[K');
    },
  };
}

const LINE_EVERY_MS = 5_000;

function lineProgress(stream: NodeJS.WriteStream): JobProgress {
  let last = Date.now();
  return {
    dispatched() {},
    settled(outcomes, open) {
      if (open > 0 && Date.now() - last < LINE_EVERY_MS) return;
      last = Date.now();
      const settled = total(outcomes);
      stream.write(`${settled} settled, ${open} open${settled > 0 ? `: ${summary(outcomes)}` : ''}\n`);
    },
    end() {},
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
