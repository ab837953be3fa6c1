import { join } from 'node:path';
import { build } from 'esbuild';
import { PROJECT_ROOT } from '../../src/local/paths.ts';

/** Options of lib/constructs/service-function.ts; the `bundles` benchmark checks that they still are the same. */
const EXTERNAL = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
];
const BANNER =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/**
 * Bundles a module as the functions are bundled.
 * @param entry from the project's root
 * @returns the bundle's path
 */
export async function bundle(entry: string, directory: string): Promise<string> {
  const outfile = join(directory, `${entry.replaceAll(/[^\w-]+/g, '-')}.mjs`);
  await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    external: EXTERNAL,
    charset: 'utf8',
    banner: { js: BANNER },
    logLevel: 'silent',
  });
  return outfile;
}
