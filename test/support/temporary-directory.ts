import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the tests, and the processes that they start, leave in the temporary directory goes with it: synthesized apps, say. */
export default function setup(): () => void {
  const before = process.env['TMPDIR'];
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-test-'));
  process.env['TMPDIR'] = directory;
  return () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
}
