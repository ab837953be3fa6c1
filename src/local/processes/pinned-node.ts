import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Oldest Node that runs TypeScript files and has node:sqlite, which the stand-ins need. Lambda runs the same version.
 */
const NEEDED_MAJOR = 24;

/**
 * The Node for child processes: the current one when it is recent enough, else the one of the `node` package. Functions
 * thus run on Lambda's version, whichever Node started npm.
 * @throws Error that says what to install
 */
export function pinnedNode(): string {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) return process.execPath;
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch (cause) {
    throw new Error(`The local runtime needs Node ${NEEDED_MAJOR}; run it through npm after \`npm ci\``, { cause });
  }
}
