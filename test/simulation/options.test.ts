import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/terminal/command-line.ts';
import { CATALOGUE } from '../../tools/simulation/catalogue.ts';
import { parseOptions, usage } from '../../tools/simulation/options.ts';

const namesOf = (args: readonly string[]) => parseOptions(args)?.scenarios.map(({ name }) => name);

describe('the options of a simulation', () => {
  it('name one scenario, or all', () => {
    expect(namesOf(['--scenario', 'steady'])).toEqual(['steady']);
    expect(namesOf(['--all', '--plots', 'pictures'])).toEqual([...CATALOGUE.keys()]);
    expect(namesOf(['--help'])).toBeUndefined();
    for (const name of CATALOGUE.keys()) expect(usage()).toContain(`      ${name} `);
  });

  it.each([
    [[], /--scenario or --all is missing.*steady/],
    [['--scenario', 'flood'], /no scenario "flood".*noisy-tenant/],
    [['--all', '--scenario', 'steady'], /exclude each other/],
    [['--all', '--plot', 'one.svg'], /--plots DIR/],
    [['--scenario', 'verify-at-size', '--plot', 'one.svg'], /nothing to see of verify-at-size over time/],
    [['--scenario', 'steady', '--notifications', '1e6'], /--notifications must be a whole number from 100 to/],
    [['--scenario', 'steady', '--fast'], /--fast.*The options are/],
  ])('are refused as %j, in words that name what is right', (args, message) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(message);
  });
});
