import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const FOLDER = 'docs/decisions';
const CHAPTERS = globSync(`${FOLDER}/*/*.md`, { cwd: PROJECT_ROOT }).sort();
const SECTIONS = ['Now', 'Why', 'Rejected', 'Held by'];

/** The records that there were before the chapters, first and last of each run of numbers. */
const OLD_NUMBERS = (
  [
    [1, 17],
    [30, 31],
    [40, 42],
    [45, 78],
    [80, 98],
    [100, 118],
    [120, 169],
    [172, 182],
    [184, 188],
    [190, 194],
    [196, 196],
  ] as const
).flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => String(first + at).padStart(4, '0')));

const textOf = (file: string) => readFileSync(join(PROJECT_ROOT, file), 'utf8');
const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;
const anchorsOf = (text: string) => [...text.matchAll(/<a id="([^"]*)"><\/a>/g)].map(([, id = '']) => id);

describe.each(CHAPTERS)('%s', (chapter) => {
  const text = textOf(chapter);

  it('has the sections of a chapter, none of them empty', () => {
    const [, ...parts] = text.split(/^## /m);
    expect(parts.map((part) => part.split('\n')[0])).toEqual(SECTIONS);
    expect(parts.filter((part) => wordsOf(part) < 4)).toEqual([]);
  });

  it('has at most 900 words', () => expect(wordsOf(text)).toBeLessThanOrEqual(900));

  it('has its reasons under the numbers of records, within the section "Why"', () => {
    const [, why = ''] = /^## Why\n(.*?)^## Rejected$/ms.exec(text) ?? [];
    expect(anchorsOf(why)).toEqual(anchorsOf(text));
    expect(anchorsOf(why).filter((id) => !why.includes(`<a id="${id}"></a>${id}: `))).toEqual([]);
  });

  it('has one line in the index', () => {
    const link = `](${chapter.slice(FOLDER.length + 1)}): `;
    expect(
      textOf(`${FOLDER}/README.md`)
        .split('\n')
        .filter((line) => line.includes(link)),
    ).toHaveLength(1);
  });
});

describe('the decisions', () => {
  it('are at most 50 chapters with at most 24,000 words', () => {
    expect(CHAPTERS.length).toBeGreaterThan(30);
    expect(CHAPTERS.length).toBeLessThanOrEqual(50);
    const words = [...CHAPTERS, `${FOLDER}/README.md`].map((file) => wordsOf(textOf(file)));
    expect(words.reduce((sum, some) => sum + some, 0)).toBeLessThanOrEqual(24_000);
  });

  it('are in the folders of their subjects, beside nothing but the index', () => {
    expect(globSync(`${FOLDER}/*.md`, { cwd: PROJECT_ROOT })).toEqual([`${FOLDER}/README.md`]);
  });

  it('have each number of an earlier record once', () => {
    const anchors = CHAPTERS.flatMap((chapter) => anchorsOf(textOf(chapter)));
    expect(anchors.sort()).toEqual(OLD_NUMBERS);
  });

  it('are cited by chapters and anchors that exist, everywhere in the repository', () => {
    const cited = trackedFiles().flatMap((file) => wrongCitations(textOf(file)).map((wrong) => `${file}: ${wrong}`));
    expect(cited).toEqual([]);
  });

  it('finds a citation of a number, of a missing chapter and of a missing anchor', () => {
    const [folder, known] = ['docs/decisions', 'docs/decisions/delivery/breaker.md'];
    expect(wrongCitations(`(${folder}/0040)`)).toHaveLength(1);
    expect(wrongCitations(`see decision ${'0040'}, and design ${'§7.9'}`)).toHaveLength(2);
    expect(wrongCitations(`${folder}/delivery/none.md`)).toHaveLength(1);
    expect(wrongCitations(`${known}#0001`)).toHaveLength(1);
    expect(wrongCitations(`${known}#0040, ${known} and ${folder}/`)).toEqual([]);
  });
});

function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
  });
  const files = listed.split('\0').filter((file) => /\.(ts|tsx|js|mjs|cjs|md|css|json|yml)$/.test(file));
  expect(files.length).toBeGreaterThan(1_000);
  return files.filter((file) => file !== 'CHANGELOG.md' && existsSync(join(PROJECT_ROOT, file)));
}

/** What a text cites that nobody can open: a record by its old number, a chapter or an anchor that is not there, a design. */
function wrongCitations(text: string): string[] {
  const numbers = [...text.matchAll(/\bdecisions?[ /]\d{4}\b|\bdesign §[\d.]+/gi)].map(([cited]) => cited);
  const chapters = [...text.matchAll(/\bdecisions\/([a-z]+\/[\w-]+\.md)(?:#([\w-]+))?/g)].filter(
    ([, chapter = '', anchor]) => {
      const file = join(FOLDER, chapter);
      if (!CHAPTERS.includes(file)) return true;
      return anchor !== undefined && !anchorsOf(textOf(file)).includes(anchor);
    },
  );
  return [...numbers, ...chapters.map(([cited]) => cited)];
}
