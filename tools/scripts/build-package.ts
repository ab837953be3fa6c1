import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { buildConsole } from '../../console/build.ts';
import { BUNDLE_OPTIONS } from '../../lib/constructs/function/function-bundle.ts';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { BEFORE_EXPORTS, buildClientModules, bundle, entryPoint, published } from './build-client.ts';
import { declareTypes } from './declare-types.ts';
import { thirdPartyNotices } from './third-party-notices.ts';

/** The files of the repository and of libraries that went into each bundle, relative to the repository. */
export interface PackageInputs {
  readonly construct: readonly string[];
  readonly client: readonly string[];
  readonly functions: readonly string[];
  /** The console's page, which the construct deploys (lib/constructs/console/page.ts). */
  readonly page: readonly string[];
  /** The commands of operators. */
  readonly commands: readonly string[];
}

/** What is suggested in the repository, and what to say instead in a project that has installed the package. */
const CALLS = [
  ['npm run ops -- ', 'npx notification-retry ops '],
  ['Start it with: npm run local', 'It is in the repository of notification-retry: `npm run local` there starts it'],
  ['npm run batch:notification-retry', 'npx notification-retry job'],
  ['npm run batch:batch-sending-service-job', 'npx notification-retry sending-job'],
] as const;

const COMMANDS = {
  ops: 'src/cli/main.ts',
  job: 'src/batch/notification-retry.ts',
  'sending-job': 'src/batch/batch-sending-service-job.ts',
} as const;

function asInstalled(text: string): string {
  return CALLS.reduce(
    (said, [here, there]) => said.replaceAll(here, there).replaceAll(`${there} -- `, `${there} `),
    text,
  );
}

/**
 * Builds the package `notification-retry`: the construct as CommonJS, because most CDK apps are CommonJS and ES modules
 * can import it; the producer client; types; the bundle of each function; the console's page; and the commands of
 * operators. It has no dependencies but its peers.
 */
export async function buildPackage(directory: string): Promise<PackageInputs> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'client'), { recursive: true });
  const [construct, client, functions] = [
    await buildConstruct(directory),
    await buildClientModule(join(directory, 'client')),
    await buildFunctions(join(directory, 'functions')),
  ];
  const commands = await buildCommands(join(directory, 'bin'));
  writeJson(join(directory, 'package.json'), manifest());
  for (const file of ['LICENSE', 'CHANGELOG.md', 'SECURITY.md']) {
    copyFileSync(join(PROJECT_ROOT, file), join(directory, file));
  }
  // Alarms, errors and types name these pages; pictures are large, and nothing names them.
  const filter = (path: string) => !/[\\/]images$/.test(path);
  cpSync(join(PROJECT_ROOT, 'docs'), join(directory, 'docs'), { recursive: true, filter });
  copyFileSync(join(PROJECT_ROOT, 'lib', 'README.md'), join(directory, 'README.md'));
  const page = buildConsole(join(directory, 'console'), asInstalled);
  const inputs = { construct, client, functions, page, commands };
  writeFileSync(join(directory, 'THIRD-PARTY-NOTICES'), thirdPartyNotices(Object.values(inputs).flat()));
  return inputs;
}

async function buildConstruct(directory: string): Promise<string[]> {
  declareTypes({ entries: ['lib/construct.ts'], root: '.', outDir: join(directory, 'types') });
  // TypeScript's older module resolutions ignore `exports` and look for this file.
  writeFileSync(join(directory, 'construct.d.ts'), "export * from './types/lib/construct.js';\n");
  return await bundle('lib/construct.ts', join(directory, 'construct.js'), {
    format: 'cjs',
    external: ['aws-cdk-lib', 'constructs', 'esbuild'],
    define: { 'import.meta.dirname': '__dirname', 'import.meta.url': '__filename' },
  });
}

async function buildClientModule(directory: string): Promise<readonly string[]> {
  writeJson(join(directory, 'package.json'), { type: 'module', sideEffects: false, ...BEFORE_EXPORTS });
  return (await buildClientModules(directory)).module;
}

async function buildFunctions(directory: string): Promise<string[]> {
  const inputs: string[] = [];
  for (const name of readdirSync(join(PROJECT_ROOT, 'functions'))) {
    if (name === 'shared') continue;
    const entryPoints = { index: `functions/${name}/handler.ts` };
    const { metafile, outputFiles } = await build({
      ...BUNDLE_OPTIONS,
      entryPoints,
      outdir: join(directory, name),
      metafile: true,
      write: false,
    });
    writeAsInstalled(outputFiles);
    inputs.push(...Object.keys(metafile.inputs));
  }
  return inputs;
}

/** The page is in the package already, and esbuild, which makes it in the repository, is not. */
const BUILT_PAGE: Plugin = {
  name: 'built-page',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /console\/build\.ts$/ }, () => ({ path: 'page', namespace: 'built' }));
    onLoad({ filter: /^page$/, namespace: 'built' }, () => ({
      contents: `import { fileURLToPath } from 'node:url';
        export const CONSOLE_PAGE = fileURLToPath(new URL('../../console', import.meta.url));
        export const buildConsole = () => [];`,
    }));
  },
};

/** Runs the command that the first argument names: each reads its own arguments after that. */
const ENTRY = `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 12)) {
  process.stderr.write('notification-retry needs Node 22.12 or newer; this is ' + process.versions.node + '.\\n');
  process.exit(2);
}
const commands = {
${Object.keys(COMMANDS)
  .map((name) => `  '${name}': () => import('./${name}.mjs'),`)
  .join('\n')}
};
const [name] = process.argv.splice(2, 1);
const run = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;
if (run === undefined) {
  const help = name === undefined || name === '--help';
  process[help ? 'stdout' : 'stderr'].write(
    'Usage: npx notification-retry ops|job|sending-job [options]; --help after each says more\\n',
  );
  process.exitCode = help ? 0 : 2;
} else await run();
`;

async function buildCommands(directory: string): Promise<string[]> {
  const { metafile, outputFiles } = await build({
    ...BUNDLE_OPTIONS,
    target: 'node22.12',
    alias: {},
    external: [],
    entryPoints: { ...COMMANDS },
    outdir: directory,
    plugins: [BUILT_PAGE],
    metafile: true,
    write: false,
  });
  writeAsInstalled(outputFiles);
  writeFileSync(join(directory, 'notification-retry.mjs'), ENTRY, { mode: 0o755 });
  return Object.keys(metafile.inputs).filter((input) => input !== 'built:page');
}

function writeAsInstalled(files: readonly { readonly path: string; readonly text: string }[]): void {
  for (const { path, text } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, asInstalled(text));
  }
}

function manifest(): object {
  const root = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const { name, version, description, license, engines, dependencies } = root;
  const peers = ['aws-cdk-lib', 'constructs'].map((peer) => [peer, `^${dependencies[peer]}`]);
  return {
    name,
    version,
    description,
    license,
    ...published(root),
    type: 'commonjs',
    keywords: ['aws-cdk', 'notifications', 'retry'],
    engines,
    bin: { 'notification-retry': './bin/notification-retry.mjs' },
    exports: {
      './construct': { types: './construct.d.ts', default: './construct.js' },
      './client/browser': entryPoint('./client', 'browser'),
      './client': entryPoint('./client', 'index'),
      './package.json': './package.json',
    },
    peerDependencies: Object.fromEntries(peers),
  };
}

function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

if (import.meta.filename === process.argv[1]) {
  const directory = join(PROJECT_ROOT, 'dist', 'package');
  await buildPackage(directory);
  process.stdout.write(`${directory} is built. Pack it with: npm pack ./dist/package --pack-destination dist\n`);
}
