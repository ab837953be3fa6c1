import { statSync } from 'node:fs';
import { join } from 'node:path';
import { CHANNELS } from '../../src/core/channels.ts';
import type { Benchmark } from '../benchmark.ts';
import { bundle } from '../setup/bundle.ts';
import { deployedFunctions } from '../setup/deployed-functions.ts';

const MEGABYTE = 1_000_000;

/** Design §9: what Lambda has to load at a cold start. */
export const bundles: Benchmark = {
  name: 'bundles',
  describes: 'size of the channel functions’ bundles',
  async run(context) {
    context.step('bundles: the plain reading’s');
    const deployed = deployedFunctions(context.stack);
    await expectSameOptions(deployed.bundleOf('send-webhook'), context.home);
    const plain = statSync(await bundle('bench/plain/plain-worker.ts', context.home)).size / MEGABYTE;
    return CHANNELS.map((channel) => ({
      id: `bundle_size.${channel}`,
      what: `bundle of send-${channel}, minified`,
      figure: statSync(deployed.bundleOf(`send-${channel}`)).size / MEGABYTE,
      unit: 'MB',
      budget: { max: 1.2 },
      plain,
    }));
  },
};

/** The other bundles are only comparable as long as both are made alike. @throws Error when they are not */
async function expectSameOptions(deployed: string, home: string): Promise<void> {
  const own = statSync(await bundle('functions/send-webhook/handler.ts', join(home, 'same'))).size;
  const { size } = statSync(deployed);
  if (Math.abs(own - size) <= size * 0.001) return;
  throw new Error(
    `bench/setup/bundle.ts makes send-webhook ${own} bytes large and the stack ${size}: its options should be those of lib/constructs/service-function.ts`,
  );
}
