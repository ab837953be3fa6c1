import { colorsFor } from '../src/terminal/colors.ts';

/** What is going on, on stderr: one line that is rewritten on a terminal, a line a step elsewhere. */
export interface Progress {
  step(text: string): void;
  end(): void;
}

export function showProgress(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return { step: (text) => void stream.write(`${text}\n`), end() {} };
  const { cyan } = colorsFor(stream);
  return {
    step: (text) => void stream.write(`\r\x1b[K${cyan('•')} ${text.slice(0, Math.max(20, stream.columns - 3))}`),
    end: () => void stream.write('\r\x1b[K'),
  };
}
