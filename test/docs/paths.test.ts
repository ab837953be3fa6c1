import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const DOCUMENTS = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'src/**/*.md'], { cwd: PROJECT_ROOT }).sort();

const SOURCES = globSync('{bin,lib,functions,src,console,tools,examples,test}/**/*.{ts,tsx}', {
  cwd: PROJECT_ROOT,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
}).map((path) => path.replaceAll('\\', '/'));

/** A path of the repository in code style; `<name>` and `*` stand for any name. */
const REPOSITORY_PATH = /`((?:\.github|bin|docs|examples|functions|lib|src|test|tools)\/[\w./<>*-]*)`/g;
const RELATIVE_LINK = /\]\((?![a-z]+:)([^)\s]+)\)/g;
const NPM_SCRIPT = /\bnpm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g;

describe.each(DOCUMENTS)('%s', (document) => {
  const text = readFileSync(join(PROJECT_ROOT, document), 'utf8');

  it('names only paths that exist', () => {
    const paths = matches(text, REPOSITORY_PATH);
    expect(paths.filter((path) => globSync(path.replace(/<[^>]*>/g, '*'), { cwd: PROJECT_ROOT }).length === 0)).toEqual(
      [],
    );
  });

  it('links only to files and sections that exist', () => {
    expect(matches(text, RELATIVE_LINK).filter((link) => !resolves(document, link))).toEqual([]);
  });

  it('prints only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
    expect(matches(text, NPM_SCRIPT).filter((script) => !(script in scripts))).toEqual([]);
  });
});

it('finds a missing path, file, section and script', () => {
  const text = '`src/core/nothing.ts` [a](nothing.md) [b](README.md#nothing) [c](README.md#deploy) npm run nothing';
  expect(matches(text, REPOSITORY_PATH)).toEqual(['src/core/nothing.ts']);
  expect(matches(text, RELATIVE_LINK).map((link) => resolves('README.md', link))).toEqual([false, false, true]);
  expect(matches(text, NPM_SCRIPT)).toEqual(['nothing']);
});

// A comment that sends its reader to a file that was moved or folded away is worse than none.
it('holds in comments of the code, too, whose file names exist', () => {
  const ends = new Set(SOURCES.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
  const missing = SOURCES.flatMap((path) =>
    namesInComments(readFileSync(join(PROJECT_ROOT, path), 'utf8'))
      .filter((name) => !ends.has(name))
      .map((name) => `${path}: ${name}`),
  );

  expect(missing).toEqual([]);
  const names = ['away.ts', 'lib/a-b.ts'];
  expect(namesInComments(`x(); /${'/'} see ${names[0]}\n/*${'*'} (${names[1]}) */ import('c.ts');`)).toEqual(names);
});

/** Names of source files in the comments of a source file; patterns with `*` are none. */
function namesInComments(text: string): string[] {
  const comments = matches(text, /(?:^|\s)(\/\*[\s\S]*?\*\/|\/\/.*)/g).join('\n');
  return matches(comments, /(?<![\w*/.}-])((?:[\w.-]+\/)*[\w-]+(?:\.(?:test|d))?\.tsx?)\b/g);
}

// The source documents, which a comment names without a folder, are not in the repository.
it('holds for the documents that comments name', () => {
  const missing = SOURCES.flatMap((path) =>
    matches(
      readFileSync(join(PROJECT_ROOT, path), 'utf8'),
      /(?<![\w/.-])((?:docs|examples|src|lib|test)\/[\w./-]*\.md)\b/g,
    )
      .filter((name) => !existsSync(join(PROJECT_ROOT, name)))
      .map((name) => `${path}: ${name}`),
  );

  expect(missing).toEqual([]);
});

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '');
}

/** Whether the link of a document leads to a file, and to a heading of it where it names one. */
function resolves(document: string, link: string): boolean {
  const [path = '', section] = link.split('#');
  const target = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(PROJECT_ROOT, target))) return false;
  return section === undefined || anchorsOf(target).has(decodeURIComponent(section));
}

/** The anchors that GitHub gives the headings of a document, and those that it names itself. */
function anchorsOf(document: string): Set<string> {
  const text = readFileSync(join(PROJECT_ROOT, document), 'utf8').replace(/^```.*?^```$/gms, '');
  const named = [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = '']) => id);
  return new Set([...named, ...[...text.matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1] ?? ''))]);
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
