import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';

/** A figure of the repository's size, and what it should be at most. */
export interface HouseFigure {
  readonly name: string;
  readonly value: number;
  readonly aim?: number;
}

/** TypeScript of the product, and of what is made for it. Tests are not counted. */
const SOURCE = '{bin,lib,functions,src,console,tools,examples}/**/*.{ts,tsx}';
const isOfProduct = (file: string) => !/^(?:tools|examples)\//.test(file);

/** Paths of all source files, from the project's root. */
export function sourceFiles(): string[] {
  return globSync(SOURCE, { cwd: PROJECT_ROOT, exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path) }).sort();
}

const textOf = (file: string) => readFileSync(join(PROJECT_ROOT, file), 'utf8');
/** As `wc -l` counts them. */
export const linesOf = (file: string) => textOf(file).split('\n').length - 1;
const wordsOf = (file: string) =>
  textOf(file)
    .split(/\s+/)
    .filter((word) => word !== '').length;
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

export function staticFigures(): HouseFigure[] {
  const files = sourceFiles().map((file) => ({ file, lines: linesOf(file) }));
  const [product = [], tools = []] = [true, false].map((its) => files.filter(({ file }) => isOfProduct(file) === its));
  const folders = [...Map.groupBy(files, ({ file }) => dirname(file)).values()];
  const decisions = globSync('docs/decisions/**/*.md', { cwd: PROJECT_ROOT });
  return [
    { name: 'source files', value: files.length, aim: 850 },
    { name: 'lines of the product', value: sum(product.map(({ lines }) => lines)), aim: 67_000 },
    { name: 'lines of tools/ and examples/', value: sum(tools.map(({ lines }) => lines)), aim: 13_500 },
    { name: 'files over 250 lines', value: files.filter(({ lines }) => lines > 250).length, aim: 0 },
    { name: 'folders over 20 files', value: folders.filter((inside) => inside.length > 20).length, aim: 0 },
    { name: 'files under 25 lines', value: files.filter(({ lines }) => lines < 25).length },
    { name: 'decision chapters', value: globSync('docs/decisions/*/*.md', { cwd: PROJECT_ROOT }).length, aim: 50 },
    { name: 'words of the decisions', value: sum(decisions.map(wordsOf)), aim: 24_000 },
    { name: 'words of README.md', value: wordsOf('README.md'), aim: 1_100 },
    { name: 'words of docs/runbook.md', value: wordsOf('docs/runbook.md'), aim: 8_500 },
  ];
}

export async function loadFigures(): Promise<HouseFigure[]> {
  return [
    { name: 'files that functions/send-webhook loads', value: await loadedBy('send-webhook'), aim: 83 },
    { name: 'files that functions/console-api loads', value: await loadedBy('console-api'), aim: 122 },
  ];
}

/** Source files in a function's bundle: all that its handler imports, those of first use included. */
async function loadedBy(service: string): Promise<number> {
  const { metafile } = await build({
    entryPoints: [`functions/${service}/handler.ts`],
    absWorkingDir: PROJECT_ROOT,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    outdir: 'never-written',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return Object.keys(metafile.inputs).length;
}
