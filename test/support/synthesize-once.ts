import { join } from 'node:path';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { PROJECT_ROOT } from './project-root.ts';

/** The flows run the bundles that would be deployed: made once before all tests, and kept until a source changes. */
export default async function setup(): Promise<void> {
  await synthesize(join(PROJECT_ROOT, '.local'), () => {
    process.stdout.write('Synthesizing and bundling the app for the flow tests …\n');
  });
}
