import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../src/local/runtime/directories.ts';
import { bundle, bundleBrowserClient, CLIENT_TYPES } from './client-parts.ts';
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
  const module = await bundle('src/client/index.ts', join(directory, 'index.js'), { format: 'esm', sourcemap: true });
  const browser = await bundleBrowserClient(directory);
  const commandFile = join(directory, 'notification-spool.js');
  const command = await bundle('src/client/spool/commands/main.ts', commandFile, {
    format: 'esm',
    banner: { js: REQUIRE },
  });
  chmodSync(commandFile, 0o755);
  declareTypes({ ...CLIENT_TYPES, outDir: join(directory, 'types') });
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

if (import.meta.filename === process.argv[1]) {
  const directory = join(PROJECT_ROOT, 'dist', 'client');
  const { module, command } = await buildClient(directory);
  const files = new Set([...module, ...command]).size;
  process.stdout.write(`${directory}: ${files} files bundled. Pack it with: npm pack ./dist/client\n`);
}
