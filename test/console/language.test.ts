import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import japanese from '../../console/language/ja.json' with { type: 'json' };
import fromServer from '../../console/language/ja-server.json' with { type: 'json' };
import { CHANNELS } from '../../src/core/model/channels.ts';
import { ERROR_TYPES, OWN_FAULTS, remedyOf } from '../../src/core/model/error-types.ts';
import { JAPANESE_REMEDIES } from '../../src/core/model/language/japanese-remedies.ts';
import { filled, type Sentences, translator } from '../../src/core/model/language/sentences.ts';
import { SUMMANDS } from '../../src/core/verify/rules/newsletter-sums.ts';
import { ACCOUNTS } from '../../src/core/verify/rules/row-rules.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const read = (file: string) => readFileSync(join(PROJECT_ROOT, file), 'utf8');
const blanksOf = (sentence: string) => [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

/** The sentences of one file, as `t`, `rich` and `plural` find them; and what stands in the markup without either. */
function sentencesIn(name: string, source: string): { readonly said: string[]; readonly bare: string[] } {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const said: string[] = [];
  const bare: string[] = [];
  const texts = (node: ts.Node | undefined): string[] => {
    if (node === undefined) return [];
    if (ts.isStringLiteralLike(node)) return [node.text];
    return ts.isConditionalExpression(node) ? [...texts(node.whenTrue), ...texts(node.whenFalse)] : [];
  };
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}{3}/u.test(node.text)) bare.push(`${name}: ${node.text.trim()}`);
    if (ts.isCallExpression(node)) {
      const [first, one, many] = node.arguments;
      const called = node.expression.getText();
      if (called === 't' || called === 'rich') said.push(...texts(first));
      if (called === 'plural') said.push(`{n} ${texts(many)[0] ?? `${texts(one)[0]}s`}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { said, bare };
}

const sources = globSync('console/**/*.{ts,tsx}', { cwd: PROJECT_ROOT, exclude: (path) => /(^|\/)dist$/.test(path) });
const console_ = sources.map((file) => sentencesIn(file, read(file)));
const english = new Set(console_.flatMap(({ said }) => said));

describe('the sentences of the console', () => {
  it('are found: in calls of every kind, and not in names of elements', () => {
    const found = sentencesIn('a.tsx', "<p title={t('A')}>{rich(x ? 'B {n}' : 'C', {})}{plural(n, 'day')} Bare</p>;");
    expect(found).toEqual({ said: ['A', 'B {n}', 'C', '{n} days'], bare: ['a.tsx: Bare'] });
    expect(english.size).toBeGreaterThan(700);
  });

  it('have a Japanese one, or are listed here and read in English', () => {
    const missing = [...english].filter((sentence) => !Object.hasOwn(japanese, sentence));
    const bare = console_.flatMap((file) => file.bare).filter((text) => !/: (HTML|notification-retry)$/.test(text));
    if (missing.length + bare.length > 0)
      console.info(`${missing.length + bare.length} without Japanese:\n${[...missing, ...bare].join('\n')}`);
    // Somebody who adds a sentence need not know the language; a screen that lost all of its own is a mistake.
    expect(missing.length + bare.length).toBeLessThan(english.size / 10);
  });

  it('go with the Japanese ones when they change', () => {
    const gone = Object.keys(japanese).filter((sentence) => !english.has(sentence));
    expect(gone, 'who changes an English sentence changes it in console/language/ja.json, too').toEqual([]);
  });

  it.each(Object.entries({ japanese, fromServer, JAPANESE_REMEDIES }))(
    'have the same blanks in both languages: %s',
    (_, sentences: Sentences) => {
      const entries = Object.entries(sentences);
      expect(entries.filter(([from, to]) => `${blanksOf(from)}` !== `${blanksOf(to)}`)).toEqual([]);
    },
  );
});

describe('what the server says in English', () => {
  // Lines that are joined, and blanks of templates, as one text.
  const said = globSync('{src,lib}/**/*.ts', { cwd: PROJECT_ROOT })
    .map((file) =>
      read(file)
        .replace(/['`] \+\s+['`]/g, '')
        .replaceAll(/\\(['`])/g, '$1'),
    )
    .join('\n');

  it('is still said by it', () => {
    const gone = Object.keys({ ...JAPANESE_REMEDIES, ...fromServer }).filter((sentence) =>
      sentence.split(/\{\w+\}/).some((part) => !said.includes(part)),
    );
    expect(gone, 'who changes an English sentence changes it there, too, or removes it').toEqual([]);
  });

  it('is translated with what it has in its blanks', () => {
    const translate = translator({ ...JAPANESE_REMEDIES, ...fromServer });
    expect(translate('it is waiting, not dead: retry it')).toBe('断念していません（待機中）。リトライしてください');
    expect(translate('Check that Amazon SES is up, then redrive.')).toBe(
      'Amazon SES が動いていることを確かめ、リドライブしてください。',
    );
    expect(
      translate(
        'INVALID_RECIPIENT: Correct the recipient: Correct in the console, or ops correct LOG_ID, changes and resends it',
      ),
    ).toBe('INVALID_RECIPIENT: 宛先を訂正し、コンソールの「訂正」か ops correct LOG_ID で再送してください');
    expect(translate('Nobody has translated this.')).toBe('Nobody has translated this.');
  });

  it('of what operators did, and of the sums of a verification, has a Japanese word', () => {
    const translate = translator(fromServer);
    const acts = [...said.matchAll(/\bwhat: '([a-z_.]+)'/g)].map(([, act = '']) => act);
    const sums = [...ACCOUNTS, ...SUMMANDS].map((name) => name.replace('_', ' '));
    expect(acts.length).toBeGreaterThan(20);
    const words = [
      ...acts,
      'email.pause',
      'member.suppress',
      'operation.start',
      'verification.stop',
      'accepted',
      ...sums,
    ];
    expect(words.filter((word) => !/^[぀-ヿ一-鿿 A-Z（：:]+/.test(translate(word)))).toEqual([]);
  });

  it('about a cause, its last error and our own refusals is Japanese in every combination', () => {
    const translate = translator(JAPANESE_REMEDIES);
    const faults = [undefined, ...Object.keys(OWN_FAULTS).map((code) => `${code}: says`)];
    const remedies = [undefined, ...CHANNELS].flatMap((channel) =>
      ERROR_TYPES.flatMap((reason) =>
        [undefined, ...ERROR_TYPES].flatMap((error_type) =>
          faults.map((error_message) => remedyOf(reason, { error_type, error_message }, channel)),
        ),
      ),
    );
    const english = /\b(then redrive|Check that|the receiver|Correct|and|or)\b/;
    const left = [...new Set(remedies)].filter((remedy) => {
      const said = translate(remedy);
      return !/[぀-ヿ]/.test(said) || english.test(said);
    });
    expect(left).toEqual([]);
  });
});

describe('a sentence with blanks', () => {
  it('is filled in the order of its language, and shows a blank without a value', () => {
    expect(filled('{total} 件中 {n} 件', { n: 1, total: 2 })).toEqual([2, ' 件中 ', 1, ' 件']);
    expect(filled('{n} of {total}', { n: 1 })).toEqual([1, ' of ', '{total}']);
  });
});
