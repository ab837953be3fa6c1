import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/terminal/command-line.ts';
import { parseOptions, usage } from '../../tools/bench/benchmark.ts';

const NAMES = ['usage', 'memory'];

describe("the benchmarks' options", () => {
  it.each([
    { args: [], expected: { only: undefined, json: false } },
    { args: ['--json'], expected: { json: true } },
    { args: ['--only', 'memory'], expected: { only: ['memory'] } },
    { args: ['--only=usage', '--only=memory'], expected: { only: ['usage', 'memory'] } },
  ])('are read from $args', ({ args, expected }) => expect(parseOptions(args, NAMES)).toMatchObject(expected));

  it.each([
    { args: ['--only', 'speed'], names: /"speed".*usage, memory/ },
    { args: ['--fast'], names: /--fast/ },
    { args: ['memory'], names: /memory/ },
    { args: ['--only'], names: /--only/ },
  ])('are refused by name in $args', ({ args, names }) => {
    expect(() => parseOptions(args, NAMES)).toThrow(UsageError);
    expect(() => parseOptions(args, NAMES)).toThrow(names);
  });

  it('are explained, with the existing benchmarks', () => {
    expect(usage([{ name: 'memory', describes: 'how much' }])).toMatch(/memory +how much/);
  });
});
