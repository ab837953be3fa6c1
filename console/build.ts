import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { buildSync } from 'esbuild';

const SOURCES = import.meta.dirname;

/** Every file has its content in its name, so that it can be cached for ever; only index.html changes under its name. */
const ASSETS = 'assets';

/** Where the local runtime and `npm run ops -- console` build the page before they serve it. Git ignores it. */
export const CONSOLE_PAGE = join(SOURCES, 'dist');

/**
 * Builds the page: `index.html`, and one script, one style and one icon under `assets/`. It takes about a quarter of a
 * second, so whoever serves the page builds it first, and the repository holds no copy of it. Several programs may build
 * at the same time: each file appears as a whole, and index.html, which names the others, comes last.
 * @param directory keeps what earlier builds left, because a page that is open may still ask for it
 * @param said what the page says to people, as the package says it
 * @returns the files of the repository and of libraries that went into it, relative to the repository
 */
export function buildConsole(directory: string, said = (text: string) => text): string[] {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: SOURCES,
    entryPoints: ['main.tsx', 'styles/main.css'],
    outdir: directory,
    tsconfig: join(SOURCES, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    metafile: true,
  });
  mkdirSync(join(directory, ASSETS), { recursive: true });
  const put = (name: string, content: string | Uint8Array) => {
    const file = join(directory, name);
    writeFileSync(`${file}.${process.pid}`, content);
    renameSync(`${file}.${process.pid}`, file);
  };
  const asset = (extension: string, content: string | Uint8Array) => {
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
    const name = `${ASSETS}/console-${hash}.${extension}`;
    put(name, content);
    return name;
  };
  const output = (extension: string) => {
    const file = outputFiles.find(({ path }) => path.endsWith(`.${extension}`));
    if (file === undefined) throw new Error(`The build of the console made no .${extension} file`);
    return asset(extension, extension === 'js' ? said(file.text) : file.contents);
  };
  const names: Readonly<Record<string, string>> = {
    script: output('js'),
    style: output('css'),
    icon: asset('svg', readFileSync(join(SOURCES, 'icon.svg'))),
  };
  const page = said(readFileSync(join(SOURCES, 'index.html'), 'utf8'));
  put(
    'index.html',
    page.replace(/\{\{(\w+)\}\}/g, (_, name: string) => names[name] ?? ''),
  );
  return Object.keys(metafile.inputs).map((file) => posix.join('console', file));
}
