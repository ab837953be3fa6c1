import { CHANNELS } from '../../src/core/model/channels.ts';
import type { Benchmark } from '../benchmark.ts';
import { bundle, bundleSize } from '../setup/bundle.ts';
import { deployedFunctions } from '../setup/deployed-functions.ts';

const MEGABYTE = 1_000_000;

/**
 * Budget (docs/architecture.md): the size that Lambda fetches at a cold start, including code that may be loaded later.
 */
export const bundles: Benchmark = {
  name: 'bundles',
  describes: 'size of the channel functions’ bundles',
  async run(context) {
    context.step('bundles: the plain reading’s');
    const deployed = deployedFunctions(context.stack);
    const plain = bundleSize(await bundle('bench/plain/plain-worker.ts', context.home)) / MEGABYTE;
    return CHANNELS.map((channel) => ({
      id: `bundle_size.${channel}`,
      what: `bundle of send-${channel}, minified`,
      figure: bundleSize(deployed.bundleOf(`send-${channel}`)) / MEGABYTE,
      unit: 'MB',
      budget: { max: 1.2 },
      plain,
    }));
  },
};
