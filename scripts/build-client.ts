import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/** Files that went into each, relative to the repository. */
export interface ClientInputs {
  readonly module: readonly string[];
  readonly command: readonly string[];
}

/**
 * Builds the producer client as a package of its own, without dependencies: one module, its types, the spool's commands
 * as one file, a package.json, the licences.
 */
export async function buildClient(directory: string): Promise<ClientInputs> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const module = await bundle('src/client/index.ts', join(directory, 'index.js'), { sourcemap: true });
  const commandFile = join(directory, 'notification-spool.js');
  const command = await bundle('src/client/spool/commands/main.ts', commandFile, { banner: { js: REQUIRE } });
  chmodSync(commandFile, 0o755);
  declareTypes(directory);
  const { version, license, description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const manifest = {
    name: 'notification-retry-client',
    version,
    description: `Producer client. ${description}`,
    license,
    type: 'module',
    engines: { node: '>=20.3' },
    exports: { '.': { types: './types/client/index.d.ts', default: './index.js' } },
    bin: { 'notification-spool': './notification-spool.js' },
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  copyFileSync(join(ROOT, 'src', 'client', 'README.md'), join(directory, 'README.md'));
  writeFileSync(join(directory, 'THIRD-PARTY-NOTICES'), notices([...module, ...command]));
  return { module, command };
}

/** The libraries of the commands, CommonJS in part, ask for Node's modules by `require`, which a module has not. */
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";

async function bundle(entry: string, outfile: string, more: BuildOptions): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    ...more,
    metafile: true,
  });
  return Object.keys(metafile.inputs);
}

/** The licences of the libraries that are bundled, as these ask for. @throws Error that names one without */
function notices(inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...folders].sort().map((folder) => {
    const path = join(ROOT, folder);
    const licence = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
    if (licence === undefined) throw new Error(`${folder} has no licence file: its text has to be found and added.`);
    const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${readFileSync(join(path, licence), 'utf8').trim()}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

function declareTypes(directory: string): void {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rootDir: join(ROOT, 'src'),
      outDir: join(directory, 'types'),
      typeRoots: [join(ROOT, 'node_modules', '@types')],
    },
    include: [],
    files: [join(ROOT, 'src', 'client', 'index.ts')],
  };
  const path = join(directory, 'tsconfig.json');
  writeFileSync(path, JSON.stringify(config));
  try {
    execFileSync(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '--project', path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } finally {
    rmSync(path);
  }
}

if (import.meta.filename === process.argv[1]) {
  const directory = join(ROOT, 'dist', 'client');
  const { module, command } = await buildClient(directory);
  const files = new Set([...module, ...command]).size;
  process.stdout.write(`${directory}: ${files} files bundled. Pack it with: npm pack ./dist/client\n`);
}
