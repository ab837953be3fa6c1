import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from './support/project-root.ts';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'),
);
/** What `npm run check` runs: `lint`, and `typecheck:main` for its `typecheck:*`. */
const patterns = scripts['check']?.split(' ').filter((word) => scripts[word] || word.endsWith(':*')) ?? [];
const CHECKS = Object.keys(scripts).filter((name) =>
  patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one)),
);

const run = promisify(execFile);
/** The type checker is written in Go. Without its garbage collector it takes two thirds of the CPU, and 1.8 GB in place of 1.6. */
const WITHOUT_COLLECTION = { ...process.env, GOGC: 'off', GOMEMLIMIT: '3GiB' };

it('has all checks', () => expect(CHECKS).toEqual(expect.arrayContaining(['typecheck:main', 'lint', 'dead-code'])));

// One after the other, in the time in which the other tests wait: before them they would take twenty seconds more.
it.each(CHECKS)(
  'npm run %s finds nothing',
  async (name) => {
    const options = {
      cwd: PROJECT_ROOT,
      env: WITHOUT_COLLECTION,
      shell: process.platform === 'win32',
      maxBuffer: 100_000_000,
    };
    const found = await run('npm', ['run', '--silent', name], options).then(
      () => '',
      ({ stdout, stderr }) => `npm run ${name}\n${stdout}${stderr}`,
    );
    if (found !== '') throw new Error(found);
  },
  300_000,
);
