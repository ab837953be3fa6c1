import { existsSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { AssetCode } from 'aws-cdk-lib/aws-lambda';
import type { BuildOptions } from 'esbuild';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');
/** The published package has the bundles in this folder beside its compiled file. The repository has no such folder. */
const PREBUILT = join(import.meta.dirname, 'functions');

/** A module with this code in place of one of Node's. */
function standIn(name: string, codeOf: (module: string) => string): [path: string, code: string] {
  const code = codeOf(`process.getBuiltinModule('node:${name}')`);
  return [`node:${name}`, `data:text/javascript,${encodeURIComponent(code)}`];
}

/**
 * What stands for Node's modules. To list its exports, an ES import reads them all, and with some of them Node loads
 * what no function uses: streams of files, readline, standard input, reports
 * (docs/decisions/measured/cold-start-and-bundles.md#0162). What inherits them reads each one when it is used.
 */
const NODE_MODULES: Readonly<Record<string, string>> = Object.fromEntries([
  // Themselves: an alias holds for all below its path, too, and the rest of the path would be appended to the code.
  ...builtinModules.filter((name) => /^\w+\//.test(name)).map((name) => [`node:${name}`, `node:${name}`]),
  ...['console', 'crypto', 'fs', 'https', 'os', 'path', 'process', 'stream', 'timers', 'timers/promises', 'url'].map(
    (name) => standIn(name, (module) => `module.exports = Object.create(${module})`),
  ),
  // Loaded with the first file; the build names a function that is missing here.
  standIn('fs/promises', (module) =>
    ['open', 'readFile', 'readdir', 'stat'].map((f) => `export const ${f} = (...a) => ${module}.${f}(...a)`).join(';'),
  ),
]);

/**
 * The options by which every function is bundled. With `splitting`, chunks hold the modules that are loaded on first
 * use: in a single file, every cold start would compile them, and tree shaking and hoisting of shared modules would not
 * work (docs/decisions/measured/cold-start-and-bundles.md#0060). A chunk of a CommonJS library has no named exports, so
 * a module of ours loads it.
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
  alias: { ...NODE_MODULES, '@smithy/core/event-streams': './functions/shared/runtime/clients/no-event-streams.ts' },
  outExtension: { '.js': '.mjs' },
  logLevel: 'warning',
  // The bundle contains the AWS SDK, so the tested version runs, not the runtime's. It omits the credential providers
  // that the SDK imports only if the environment has no credentials: on Lambda it always has them, and the providers
  // would be an eighth of every bundle.
  external: [
    '@aws-sdk/credential-provider-http',
    '@aws-sdk/credential-provider-ini',
    '@aws-sdk/credential-provider-process',
    '@aws-sdk/credential-provider-sso',
    '@aws-sdk/credential-provider-web-identity',
    '@smithy/credential-provider-imds',
    // No function runs in a browser.
    'bowser',
  ],
  // CommonJS dependencies call require, which ES modules do not have. What they ask for outside the bundle is Node's own.
  banner: { js: 'const require=process.getBuiltinModule;' },
} as const satisfies BuildOptions;

/**
 * The code of a function: the prebuilt bundle, or in the repository a bundle that esbuild makes now, without Docker.
 * CDK's NodejsFunction cannot split its bundle.
 * @param name folder in functions/; its handler.ts becomes `index.mjs`
 */
export function functionBundle(name: string): AssetCode {
  const prebuilt = join(PREBUILT, name);
  return existsSync(prebuilt) ? new AssetCode(prebuilt) : bundleNow(join(PROJECT_ROOT, 'functions', name));
}

function bundleNow(folder: string): AssetCode {
  return new AssetCode(folder, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('never used: the local bundling below always succeeds or throws'),
      local: {
        tryBundle(outdir) {
          // The published package does not install esbuild, so only this call loads it.
          const { buildSync }: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');
          buildSync({ ...BUNDLE_OPTIONS, entryPoints: { index: join(folder, 'handler.ts') }, outdir });
          return true;
        },
      },
    },
  });
}
