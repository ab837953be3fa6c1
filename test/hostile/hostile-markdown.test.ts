import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

// Opt-in by `MARKDOWN_BATCH=10`, as in `.ci/run`: a single one takes a minute of a busy machine, and says little of memory.
it.skipIf(!process.env['MARKDOWN_BATCH'])(
  'a worker of 256 MB survives batches of whatever Markdown the API takes',
  { timeout: 300_000 },
  () => {
    const script = join(PROJECT_ROOT, 'test', 'support', 'content', 'convert-all.ts');
    // What Lambda leaves to the heap beside the runtime, the bundle and the SDK.
    const args = ['--max-old-space-size=128', '--import', 'tsx', script];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: PROJECT_ROOT, encoding: 'utf8' });
    expect(stderr.slice(0, 500)).toBe('');
    expect(status).toBe(0);
    const converted = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(converted).toHaveLength(16);
    expect(converted.filter(({ slow }) => slow > 0)).toEqual([]);
  },
);
