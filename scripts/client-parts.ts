import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { PROJECT_ROOT } from '../src/local/runtime/directories.ts';

/** Both packages contain the producer client and the client for web pages. */
export const CLIENT_TYPES = {
  entries: ['src/client/index.ts', 'src/client/browser/index.ts'],
  root: 'src',
  browser: true,
} as const;

/** Builds `browser.js`: one module without dependencies. @returns the files that went into it */
export function bundleBrowserClient(directory: string): Promise<string[]> {
  return bundle('src/client/browser/index.ts', join(directory, 'browser.js'), {
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
  });
}

/** Bundles an entry for Node. @returns the files that went into the bundle, relative to the repository */
export async function bundle(entry: string, outfile: string, more: BuildOptions): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    ...more,
    metafile: true,
  });
  return Object.keys(metafile.inputs);
}
