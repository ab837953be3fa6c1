import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../lib/constructs/function/function-bundle.ts';

/**
 * Bundles a module with the settings of the functions.
 * @param entry relative to the project's root
 * @returns path of the bundle's entry; modules that it loads later are in the same directory
 */
export async function bundle(entry: string, directory: string): Promise<string> {
  const outdir = join(directory, entry.replaceAll(/[^\w-]+/g, '-'));
  await build({ ...BUNDLE_OPTIONS, logLevel: 'silent', entryPoints: { index: entry }, outdir });
  return join(outdir, 'index.mjs');
}

/** @returns bytes of the bundle, including modules that it loads later */
export function bundleSize(entry: string): number {
  const directory = dirname(entry);
  return readdirSync(directory).reduce((bytes, name) => bytes + statSync(join(directory, name)).size, 0);
}
