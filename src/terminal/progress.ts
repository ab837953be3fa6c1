import { Presets, SingleBar } from 'cli-progress';
import type { Terminal } from './terminal.ts';

export interface Progress {
  update(done: number, total: number | undefined): void;
  end(): void;
}

interface Shown {
  readonly terminal: Terminal;
  readonly json: boolean;
}

const LINE_EVERY_MS = 5_000;

/** Progress on stderr: a bar on a terminal, elsewhere a line now and then; none with --json. */
export function showProgress(verb: string, { terminal, json }: Shown): Progress {
  if (json) return { update() {}, end() {} };
  if (terminal.redraws) return bar(verb);
  let last = Date.now();
  return {
    update(done, total) {
      if (Date.now() - last < LINE_EVERY_MS) return;
      last = Date.now();
      terminal.say(`${verb} ${done}${total === undefined ? '' : ` of ${total}`}\n`);
    },
    end() {},
  };
}

function bar(verb: string): Progress {
  const drawn = new SingleBar(
    { stream: process.stderr, format: ` {bar} ${verb} {value}/{total}`, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  );
  let running = false;
  return {
    update(done, total = done) {
      if (!running) drawn.start(total, done);
      running = true;
      drawn.setTotal(Math.max(total, done));
      drawn.update(done);
    },
    end() {
      if (running) drawn.stop();
    },
  };
}
