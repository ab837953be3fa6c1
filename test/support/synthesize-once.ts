import { join } from 'node:path';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { PROJECT_ROOT } from './project-root.ts';

/**
 * The flows run the bundles that would be deployed: made once, beside the first tests, and kept until a source changes.
 * A flow that starts meanwhile waits for them, and shows the error when they cannot be made.
 */
export default function setup(): () => Promise<void> {
  // It takes a third of a synthesis, and test/tools/cfn-lint.test.ts has it.
  process.env['CDK_VALIDATION'] = 'false';
  const stop = new AbortController();
  const made = synthesize(
    join(PROJECT_ROOT, '.local'),
    () => process.stdout.write('Synthesizing and bundling the app for the flow tests …\n'),
    stop.signal,
  ).catch(() => {});
  return async () => {
    stop.abort();
    await made;
  };
}
