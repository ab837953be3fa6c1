import { expect, it } from 'vitest';
import { type BenchContext, type Benchmark, runAll } from '../../tools/bench/benchmark.ts';

const context: BenchContext = {
  stack: { name: 'stack', directory: '', resources: {}, parameters: {}, outputs: {} },
  home: '',
  step() {},
};

function benchmark(name: string, changes: Partial<Benchmark> = {}): Benchmark {
  const figures = [{ id: name, what: name, figure: 1, unit: '', budget: { max: 2 } }];
  return { name, describes: name, run: async () => figures, ...changes };
}

const fail = async () => {
  throw new Error('broken');
};

it('a run of benchmarks measures the others when one fails', async () => {
  const { figures, failures } = await runAll([benchmark('one', { run: fail }), benchmark('two')], context);
  expect(figures.map(({ id, met }) => ({ id, met }))).toEqual([{ id: 'two', met: true }]);
  expect(failures).toEqual([{ benchmark: 'one', error: 'broken' }]);
});
