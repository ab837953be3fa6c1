import { describe, expect, it } from 'vitest';
import type { BenchContext, Benchmark } from '../../bench/benchmark.ts';
import { runAll } from '../../bench/run.ts';

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

describe('a run of benchmarks', () => {
  it.each([
    { case: 'fails', broken: benchmark('one', { run: fail }) },
    { case: 'cannot be prepared', broken: benchmark('one', { prepare: fail }) },
  ])('measures the others when one $case', async ({ broken }) => {
    const { figures, failures } = await runAll([broken, benchmark('two')], context);
    expect(figures.map(({ id, met }) => ({ id, met }))).toEqual([{ id: 'two', met: true }]);
    expect(failures).toEqual([{ benchmark: 'one', error: 'broken' }]);
  });

  it('prepares a benchmark while earlier ones run, and measures it after its preparation', async () => {
    const order: string[] = [];
    const first = benchmark('first', {
      run: async () => {
        order.push('first');
        return [];
      },
    });
    const second = benchmark('second', {
      prepare: async () => {
        order.push('preparing');
        await new Promise(setImmediate);
        order.push('prepared');
      },
      run: async () => {
        order.push('second');
        return [];
      },
    });
    await runAll([first, second], context);
    expect(order[0]).toBe('preparing');
    expect(order.indexOf('second')).toBeGreaterThan(order.indexOf('prepared'));
    expect(order.at(-1)).toBe('second');
  });
});
