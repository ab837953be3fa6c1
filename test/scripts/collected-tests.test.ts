import { expect, it } from 'vitest';
import * as collecting from '../../scripts/mutation/collected-tests.ts';

it('a collected test runs alone, with all hooks of its suites, also after it has failed', async () => {
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  collecting.beginFile();
  collecting.beforeAll(note('before all'));
  collecting.afterEach(note('after each'));
  collecting.describe('outer', () => {
    collecting.beforeEach(note('outer before each'));
    collecting.describe('inner', () => {
      collecting.beforeEach(note('inner before each'));
      collecting.afterEach(note('inner after each'));
      collecting.it.each([[1, 2], 3])('of %i', (...row: number[]) => {
        calls.push(`test ${row}`);
        if (row.length === 1) throw new Error('it fails');
      });
    });
    collecting.afterAll(note('after all'));
  });
  collecting.it('beside', note('beside'));
  const [first, second, beside] = collecting.collected;
  if (first === undefined || second === undefined || beside === undefined) throw new Error('three tests expected');
  const before = ['before all', 'outer before each', 'inner before each'];
  const after = ['inner after each', 'after each', 'after all'];
  await collecting.runTest(first);
  expect(calls.splice(0)).toEqual([...before, 'test 1,2', ...after]);
  await expect(collecting.runTest(second)).rejects.toThrow('it fails');
  expect(calls.splice(0)).toEqual([...before, 'test 3', ...after]);
  await collecting.runTest(beside);
  expect(calls).toEqual(['before all', 'beside', 'after each']);
});
