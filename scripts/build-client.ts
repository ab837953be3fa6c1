import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/**
 * Builds the producer client as a package of its own, without dependencies: one module, its types, a package.json.
 * @returns the files that went into the module, relative to the repository
 */
export async function buildClient(directory: string): Promise<string[]> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/client/index.ts'],
    outfile: join(directory, 'index.js'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    metafile: true,
  });
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
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  return Object.keys(metafile.inputs);
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
  const inputs = await buildClient(directory);
  process.stdout.write(`${directory}: ${inputs.length} files bundled. Pack it with: npm pack ./dist/client\n`);
}
