import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Oldest Node that runs TypeScript files and has node:sqlite, which the stand-ins need; Lambda's is the same. */
const NEEDED_MAJOR = 24;

/**
 * The Node for our child processes: this one when it is recent enough, else the one that the `node` package brings,
 * so that functions run on Lambda's version whatever Node started npm.
 * @throws Error that says what to install.
 */
export function pinnedNode(): string {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) return process.execPath;
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch (cause) {
    throw new Error(`The local runtime needs Node ${NEEDED_MAJOR}; run it through npm after \`npm ci\``, { cause });
  }
}
