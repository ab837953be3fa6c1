import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { declareTypes } from './declare-types.ts';
import { thirdPartyNotices } from './third-party-notices.ts';

/** The files that went into each bundle, relative to the repository. */
export interface ClientInputs {
  readonly module: readonly string[];
  readonly browser: readonly string[];
  readonly command: readonly string[];
}

/**
 * Builds the producer client as a separate package without dependencies: one module,
 * one for web pages, their types, the spool's commands as
 * one file, a package.json and the licences.
 */
export async function buildClient(directory: string): Promise<ClientInputs> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const { module, browser } = await buildClientModules(directory, { sourcemap: true });
  const commandFile = join(directory, 'notification-spool.js');
  const command = await bundle('src/client/spool/commands/main.ts', commandFile, {
    format: 'esm',
    banner: { js: REQUIRE },
  });
  chmodSync(commandFile, 0o755);
  const { version, license, description } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const manifest = {
    name: 'notification-retry-client',
    version,
    description: `Producer client. ${description}`,
    license,
    type: 'module',
    engines: { node: '>=20.3' },
    exports: {
      '.': { types: './types/client/index.d.ts', default: './index.js' },
      './browser': { types: './types/client/browser/index.d.ts', default: './browser.js' },
    },
    bin: { 'notification-spool': './notification-spool.js' },
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(PROJECT_ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  copyFileSync(join(PROJECT_ROOT, 'src', 'client', 'README.md'), join(directory, 'README.md'));
  writeFileSync(join(directory, 'THIRD-PARTY-NOTICES'), thirdPartyNotices([...module, ...command]));
  return { module, browser, command };
}

/** Some libraries of the commands are CommonJS and call `require`, which an ES module does not have. */
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";

/** Builds what both packages contain: the producer client, the client for web pages, and their types. */
export async function buildClientModules(directory: string, more: BuildOptions = {}) {
  const entries = ['src/client/index.ts', 'src/client/browser/index.ts'];
  declareTypes({ entries, root: 'src', browser: true, outDir: join(directory, 'types') });
  const module = await bundle('src/client/index.ts', join(directory, 'index.js'), { format: 'esm', ...more });
  return { module, browser: await bundleBrowserClient(directory) };
}

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

if (import.meta.filename === process.argv[1]) {
  const directory = join(PROJECT_ROOT, 'dist', 'client');
  const { module, command } = await buildClient(directory);
  const files = new Set([...module, ...command]).size;
  process.stdout.write(`${directory}: ${files} files bundled. Pack it with: npm pack ./dist/client\n`);
}
