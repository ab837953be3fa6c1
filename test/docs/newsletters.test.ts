import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const text = readFileSync(join(PROJECT_ROOT, 'docs/newsletters.md'), 'utf8');
/** A test file, and the titles, or parts of titles, that hold the row. */
const HELD_BY = /`(test\/[\w./-]+)` \(((?:"[^"]+"(?:, )?)+)\)/g;

/** The rows below "Where each row of the source is": what the source says, where it is, what holds it. */
function rowsOf(document: string): readonly (readonly string[])[] {
  const table = document.slice(document.indexOf('## Where each row of the source is'));
  const rows = table.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

const heldBy = (cell: string) =>
  [...cell.matchAll(HELD_BY)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  );

it.each(rowsOf(text))('the source: %s', (_, where = '', held = '') => {
  expect(where, 'where it is').toMatch(/`(src|lib)\/|runbook\.md#/);
  const tests = heldBy(held);
  expect(tests.length, `a test and its title in: ${held}`).toBeGreaterThan(0);
  // Whatever the cell names besides would be held by nothing.
  expect(held.replaceAll(HELD_BY, '').replaceAll(',', '').trim()).toBe('');
  const missing = tests.filter(({ file, title }) => {
    const path = join(PROJECT_ROOT, file);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
  expect(missing).toEqual([]);
});

it('has a row for each part of the source, and notices a title that is gone', () => {
  expect(rowsOf(text).length).toBeGreaterThan(30);
  expect(heldBy('`test/a.test.ts` ("one", "two"), `test/b.test.ts` ("three")')).toHaveLength(3);
});
