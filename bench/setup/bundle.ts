import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../lib/constructs/function/function-bundle.ts';

/**
 * Bundles a module as the functions are bundled.
 * @param entry from the project's root
 * @returns path of the bundle's entry; what it loads later is beside it
 */
export async function bundle(entry: string, directory: string): Promise<string> {
  const outdir = join(directory, entry.replaceAll(/[^\w-]+/g, '-'));
  await build({ ...BUNDLE_OPTIONS, logLevel: 'silent', entryPoints: { index: entry }, outdir });
  return join(outdir, 'index.mjs');
}

/** @returns bytes of the bundle, with all that it may load later */
export function bundleSize(entry: string): number {
  const directory = dirname(entry);
  return readdirSync(directory).reduce((bytes, name) => bytes + statSync(join(directory, name)).size, 0);
}
