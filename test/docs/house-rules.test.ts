import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const SOURCES = globSync('{bin,lib,functions,src,console,simulation,bench,scripts,examples}/**/*.{ts,tsx}', {
  cwd: PROJECT_ROOT,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
});

describe('the house rules of CONTRIBUTING.md', () => {
  it('hold no file with more than 250 lines', () => {
    const long = SOURCES.filter((file) => readFileSync(join(PROJECT_ROOT, file), 'utf8').split('\n').length > 251);
    expect(SOURCES.length).toBeGreaterThan(900);
    expect(long).toEqual([]);
  });

  it('hold no folder with more than 20 files', () => {
    const files = Map.groupBy(SOURCES, dirname);
    expect([...files].filter(([, inside]) => inside.length > 20).map(([folder]) => folder)).toEqual([]);
  });
});
