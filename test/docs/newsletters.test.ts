import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type HeldBy, NEWSLETTER_LINES } from '../support/docs/newsletter-lines.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const text = readFileSync(join(PROJECT_ROOT, 'docs/newsletters.md'), 'utf8');
const PATH = /`((?:src|lib)\/[\w./-]+)`|runbook\.md#/g;

/** The rows below "Where each line of the specification is": what it says, and where that is. */
function linesOf(document: string): ReadonlyMap<string, string> {
  const [, table = ''] = document.split('## Where each line of the specification is');
  const rows = table.split('\n').filter((line) => line.startsWith('| '));
  return new Map(
    rows
      .slice(1)
      .map((row) => row.slice(2, -2).split(' | '))
      .map(([line = '', where = '']) => [line, where]),
  );
}

/** The tests that are named, and do not exist. */
function missing(held: HeldBy): readonly string[] {
  const tests = Object.entries(held).flatMap(([file, titles]) => titles.map((title) => ({ file, title })));
  const gone = tests.filter(({ file, title }) => {
    const path = join(PROJECT_ROOT, file);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
  return gone.map(({ file, title }) => `${file}: ${title}`);
}

describe('the specification of the newsletter job', () => {
  const lines = linesOf(text);

  it('has a row for each of its lines, and tests for each row', () => {
    expect(lines.size).toBeGreaterThan(30);
    expect([...lines.keys()].sort()).toEqual(Object.keys(NEWSLETTER_LINES).sort());
  });

  it.each([...lines])('%s: is in code that exists', (_, where) => {
    const places = [...where.matchAll(PATH)];
    expect(places.length).toBeGreaterThan(0);
    expect(places.filter(([, path]) => path !== undefined && !existsSync(join(PROJECT_ROOT, path)))).toEqual([]);
  });

  it.each(Object.entries(NEWSLETTER_LINES))('%s: is held by tests that exist', (_, held) => {
    expect(Object.values(held).flat().length).toBeGreaterThan(0);
    expect(missing(held)).toEqual([]);
  });

  it('notices a test or a title that is gone', () => {
    expect(
      missing({
        'test/none.test.ts': ['one'],
        'test/docs/newsletters.test.ts': ['notices a test', 'is no' + ' title'],
      }),
    ).toHaveLength(2);
  });
});
