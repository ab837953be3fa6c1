import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { AssetCode } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, buildSync } from 'esbuild';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');

/**
 * How every function is bundled. Chunks of their own (`splitting`) hold what is loaded on first use: in one file it
 * would be compiled at every cold start, and what it shares with the rest could neither be shaken nor hoisted
 * (docs/decisions/0060). What is CommonJS has no named exports there, and is loaded through a module of ours.
 */
export const BUNDLE_OPTIONS = {
  absWorkingDir: PROJECT_ROOT,
  bundle: true,
  splitting: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  outExtension: { '.js': '.mjs' },
  // Tables of characters are shorter than their escapes.
  charset: 'utf8',
  logLevel: 'warning',
  // The AWS SDK goes into the bundle: what was tested is what runs, whatever the runtime has on board. Except for ways
  // to credentials that the SDK imports when the environment has none, which on Lambda it always has: they would be an
  // eighth of every bundle.
  external: [
    '@aws-sdk/credential-provider-http',
    '@aws-sdk/credential-provider-ini',
    '@aws-sdk/credential-provider-process',
    '@aws-sdk/credential-provider-sso',
    '@aws-sdk/credential-provider-web-identity',
    '@smithy/credential-provider-imds',
  ],
  // CommonJS dependencies call require, which ES modules do not have.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
} as const satisfies BuildOptions;

/**
 * The code of a function, bundled by the local esbuild; no Docker. CDK's NodejsFunction cannot split its bundle.
 * @param name folder under functions/; its handler.ts becomes `index.mjs`
 */
export function functionBundle(name: string): AssetCode {
  const folder = join(PROJECT_ROOT, 'functions', name);
  return new AssetCode(folder, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('never used: the local bundling below always succeeds or throws'),
      local: {
        tryBundle(outdir) {
          buildSync({ ...BUNDLE_OPTIONS, entryPoints: { index: join(folder, 'handler.ts') }, outdir });
          return true;
        },
      },
    },
  });
}
