import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { buildConsole } from '../console/build.ts';
import { BUNDLE_OPTIONS } from '../lib/constructs/function/function-bundle.ts';
import { bundle } from './bundle.ts';
import { bundleBrowserClient, CLIENT_TYPES } from './client-parts.ts';
import { declareTypes } from './declare-types.ts';
import { PROJECT_ROOT } from './project-root.ts';
import { thirdPartyNotices } from './third-party-notices.ts';

/** The files of the repository and of libraries that went into each bundle, relative to the repository. */
export interface PackageInputs {
  readonly construct: readonly string[];
  readonly client: readonly string[];
  readonly functions: readonly string[];
  /** The console's page, which the construct deploys (lib/constructs/console/page.ts). */
  readonly page: readonly string[];
}

/**
 * Builds the package `notification-retry`: the construct as CommonJS, because most CDK apps are CommonJS and ES modules
 * can import it; the producer client; types; the bundle of each function; and the console's page. It has no dependencies but its peers.
 */
export async function buildPackage(directory: string): Promise<PackageInputs> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'client'), { recursive: true });
  const [construct, client, functions] = [
    await buildConstruct(directory),
    await buildClientModule(join(directory, 'client')),
    await buildFunctions(join(directory, 'functions')),
  ];
  writeJson(join(directory, 'package.json'), manifest());
  copyFileSync(join(PROJECT_ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  copyFileSync(join(PROJECT_ROOT, 'lib', 'README.md'), join(directory, 'README.md'));
  const page = buildConsole(join(directory, 'console'));
  const inputs = { construct, client, functions, page };
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

async function buildClientModule(directory: string): Promise<string[]> {
  declareTypes({ ...CLIENT_TYPES, outDir: join(directory, 'types') });
  writeJson(join(directory, 'package.json'), { type: 'module' });
  await bundleBrowserClient(directory);
  return await bundle('src/client/index.ts', join(directory, 'index.js'), { format: 'esm' });
}

async function buildFunctions(directory: string): Promise<string[]> {
  const inputs: string[] = [];
  for (const name of readdirSync(join(PROJECT_ROOT, 'functions'))) {
    if (name === 'shared') continue;
    const entryPoints = { index: `functions/${name}/handler.ts` };
    const { metafile } = await build({ ...BUNDLE_OPTIONS, entryPoints, outdir: join(directory, name), metafile: true });
    inputs.push(...Object.keys(metafile.inputs));
  }
  return inputs;
}

function manifest(): object {
  const root = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const { name, version, description, license, repository, engines, dependencies } = root;
  const peers = ['aws-cdk-lib', 'constructs'].map((peer) => [peer, `^${dependencies[peer]}`]);
  return {
    name,
    version,
    description,
    license,
    ...(repository && { repository }),
    keywords: ['aws-cdk', 'notifications', 'retry'],
    engines,
    exports: {
      './construct': { types: './construct.d.ts', default: './construct.js' },
      './client/browser': {
        types: './client/types/client/browser/index.d.ts',
        default: './client/browser.js',
      },
      './client': { types: './client/types/client/index.d.ts', default: './client/index.js' },
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
  process.stdout.write(`${directory} is built. Pack it with: npm pack ./dist/package\n`);
}
