import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
 * Builds the producer client as a separate package without dependencies: the client and the one for web pages, each as ES
 * module and as CommonJS, their types, the spool's commands as one file, a package.json and the licences.
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
  const root = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const { version, license, description } = root;
  const manifest = {
    name: 'notification-retry-client',
    version,
    description: `Producer client. ${description}`,
    license,
    ...published(root),
    type: 'module',
    engines: { node: '>=20.3' },
    sideEffects: false,
    exports: {
      '.': entryPoint('.', 'index'),
      './browser': entryPoint('.', 'browser'),
      './package.json': './package.json',
    },
    ...BEFORE_EXPORTS,
    bin: { 'notification-spool': './notification-spool.js' },
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['LICENSE', 'CHANGELOG.md']) copyFileSync(join(PROJECT_ROOT, file), join(directory, file));
  copyFileSync(join(PROJECT_ROOT, 'src', 'client', 'README.md'), join(directory, 'README.md'));
  writeFileSync(join(directory, 'THIRD-PARTY-NOTICES'), thirdPartyNotices([...module, ...command]));
  return { module, browser, command };
}

/**
 * Where a package comes from: as package.json says, or the repository whose workflow builds it. npm compares it with the
 * provenance that the workflow signs.
 */
export function published(
  { repository }: { readonly repository?: string },
  env: Readonly<Record<string, string | undefined>> = process.env,
): object {
  const { GITHUB_REPOSITORY: name } = env;
  const url = repository ?? (name && `https://github.com/${name}`);
  if (!url) return {};
  return {
    repository: { type: 'git', url: `git+${url}.git` },
    homepage: `${url}#readme`,
    bugs: { url: `${url}/issues` },
    publishConfig: { access: 'public', provenance: true },
  };
}

/** Some libraries of the commands are CommonJS and call `require`, which an ES module does not have. */
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";

const TYPES = { index: 'types/client/index', browser: 'types/client/browser/index' } as const;

/** What `exports` says of one of the modules below. @param at the folder that they are in */
export function entryPoint(at: string, name: keyof typeof TYPES): object {
  const types = `${at}/${TYPES[name]}`;
  return {
    import: { types: `${types}.d.ts`, default: `${at}/${name}.js` },
    require: { types: `${types}.d.cts`, default: `${at}/${name}.cjs` },
  };
}

/** For resolutions that do not know `exports`, such as TypeScript's `node10`: the module of the folder. */
export const BEFORE_EXPORTS = { main: './index.cjs', types: `./${TYPES.index}.d.cts` } as const;

/** What Node's types and the DOM's declare in full: a project with neither compiles, too. */
const WITHOUT_TYPES = `declare global {
  interface AbortSignal {}
  interface Response {}
}
`;

/** Builds what both packages contain: the producer client, the client for web pages, and their types. */
export async function buildClientModules(directory: string, more: BuildOptions = {}) {
  const entries = ['src/client/index.ts', 'src/client/browser/index.ts'];
  declareTypes({ entries, root: 'src', browser: true, commonjs: true, outDir: join(directory, 'types') });
  for (const kind of ['ts', 'cts']) appendFileSync(join(directory, `types/client/index.d.${kind}`), WITHOUT_TYPES);
  // Those resolutions look for it beside the module.
  writeFileSync(join(directory, 'browser.d.ts'), `export * from './${TYPES.browser}.js';\n`);
  const built = (name: string) => join(directory, name);
  const module = await bundle('src/client/index.ts', built('index.js'), { format: 'esm', ...more });
  await bundle('src/client/index.ts', built('index.cjs'), { format: 'cjs', ...more });
  await bundleBrowserClient(directory, 'cjs');
  return { module, browser: await bundleBrowserClient(directory) };
}

/** Builds `browser.js`, or `browser.cjs`: one module without dependencies. @returns the files that went into it */
export function bundleBrowserClient(directory: string, format: 'esm' | 'cjs' = 'esm'): Promise<string[]> {
  return bundle('src/client/browser/index.ts', join(directory, format === 'cjs' ? 'browser.cjs' : 'browser.js'), {
    format,
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
  process.stdout.write(
    `${directory}: ${files} files bundled. Pack it with: npm pack ./dist/client --pack-destination dist\n`,
  );
}
