import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';

const SPECIFIER = /(\bfrom |\bimport\()(['"])(\.[^'"]+)\.ts\2/g;

export interface TypesOptions {
  /** Entry points, relative to the repository. */
  readonly entries: readonly string[];
  /** Folder whose structure the declarations keep, relative to the repository. */
  readonly root: string;
  readonly outDir: string;
  /** An entry point is for web pages, too. */
  readonly browser?: boolean;
  /** The package is an ES module that can be required, too: `.d.cts` beside each `.d.ts`. */
  readonly commonjs?: boolean;
}

/** Writes the declarations of entry points and of all files that they import, and of no others. */
export function declareTypes({ entries, root, outDir, browser = false, commonjs = false }: TypesOptions): void {
  const rootDir = join(PROJECT_ROOT, root);
  const config = {
    extends: join(PROJECT_ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rootDir,
      outDir,
      ...(browser && { lib: ['ES2024', 'DOM', 'DOM.Iterable'] }),
      typeRoots: [join(PROJECT_ROOT, 'node_modules', '@types')],
    },
    include: [],
    files: entries.map((entry) => join(PROJECT_ROOT, entry)),
  };
  const path = `${outDir}.tsconfig.json`;
  writeFileSync(path, JSON.stringify(config));
  try {
    const tsc = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    execFileSync(process.execPath, [tsc, '--project', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  } finally {
    rmSync(path);
  }
  const needed = new Set<string>();
  for (const entry of entries) {
    collect(join(outDir, entry.slice(root === '.' ? 0 : root.length + 1).replace(/\.ts$/, '.d.ts')), needed);
  }
  for (const file of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.d.ts') && !needed.has(join(outDir, file))) rmSync(join(outDir, file));
  }
  for (const file of commonjs ? needed : []) {
    const text = readFileSync(file, 'utf8').replace(/((['"])\.[^'"]+)\.js\2/g, '$1.cjs$2');
    writeFileSync(file.replace(/\.d\.ts$/, '.d.cts'), text);
  }
}

/** Adds a declaration file and its imports to `needed`; the imports name `.js` then, which every TypeScript resolves. */
function collect(file: string, needed: Set<string>): void {
  if (needed.has(file)) return;
  needed.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, , , specifier = ''] of text.matchAll(SPECIFIER)) {
    collect(`${resolve(dirname(file), specifier)}.d.ts`, needed);
  }
  writeFileSync(file, text.replace(SPECIFIER, '$1$2$3.js$2'));
}
