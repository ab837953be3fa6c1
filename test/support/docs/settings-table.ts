import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { Setting, Settings } from '../../../lib/config/setting-types.ts';
import { CHANNELS, LANES, PRIORITIES } from '../../../src/core/model/channels.ts';

export type Language = 'en' | 'ja';
type Comments = ReadonlyMap<string, string>;

/** The comments above the settings of a constant, by their paths; sections and spreads are followed into their files. */
export function commentsOf(
  file: string,
  constant: string,
  read = (path: string) => readFileSync(path, 'utf8'),
): Comments {
  const found = new Map<string, string>();
  const visit = (path: string, name: string, prefix: string): void => {
    const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true);
    const object = constantOf(source, name);
    if (object !== undefined) {
      collect(source, object, prefix);
      return;
    }
    const imported = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '([^']+)'`).exec(source.text)?.[1];
    if (imported === undefined) throw new Error(`${path} declares no ${name}`);
    visit(join(dirname(path), imported), name, prefix);
  };
  const collect = (source: ts.SourceFile, object: ts.ObjectLiteralExpression, prefix: string): void => {
    for (const property of object.properties) {
      if (ts.isSpreadAssignment(property)) visit(source.fileName, property.expression.getText(), prefix);
      if (!ts.isPropertyAssignment(property)) continue;
      const path = `${prefix}${property.name.getText()}`;
      const comment = /\/\*\*((?:(?!\/\*\*).)*?)\*\/\s*$/s.exec(
        property.getFullText().slice(0, property.getLeadingTriviaWidth()),
      );
      if (comment?.[1] !== undefined) found.set(path, inOneLine(comment[1]));
      const section = sectionOf(property.initializer);
      if (section === undefined) continue;
      if (ts.isObjectLiteralExpression(section)) collect(source, section, `${path}.`);
      else visit(source.fileName, section.getText(), `${path}.`);
    }
  };
  visit(file, constant, '');
  return found;
}

function constantOf(source: ts.SourceFile, name: string): ts.ObjectLiteralExpression | undefined {
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name: declared, initializer } of statement.declarationList.declarations) {
      let value: ts.Expression | undefined = initializer;
      while (value && (ts.isAsExpression(value) || ts.isSatisfiesExpression(value))) value = value.expression;
      if (declared.getText() === name && value && ts.isObjectLiteralExpression(value)) return value;
    }
  }
  return undefined;
}

function sectionOf(value: ts.Expression): ts.Expression | undefined {
  if (!ts.isObjectLiteralExpression(value)) return undefined;
  const section = value.properties.find((property) => property.name?.getText() === 'section');
  return section && ts.isPropertyAssignment(section) ? section.initializer : undefined;
}

const JAPANESE = /[\u3000-\u9fff\uff00-\uffef]/;

/** Japanese has no space where a line ends. */
function inOneLine(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*/, '').trim());
  return lines
    .filter((line) => line !== '')
    .reduce((text, line) =>
      JAPANESE.test(text.slice(-1)) && JAPANESE.test(line.charAt(0)) ? text + line : `${text} ${line}`,
    );
}

/** The rows of a language, one per setting, in the order of the declarations. */
export function rowsOf(settings: Settings, comments: Comments, language: Language, prefix = ''): string[] {
  return Object.entries(settings).flatMap(([key, setting]) => {
    const path = `${prefix}${key}`;
    if ('section' in setting) return rowsOf(setting.section, comments, language, `${path}.`);
    const { en, ja, absent } = partsOf(path, comments.get(path) ?? '');
    // A sentence that nobody has translated yet is read in English; the page lists it.
    const meaning = { en, ja: ja || en }[language].replaceAll('](docs/reference/', '](').replaceAll('](docs/', '](../');
    const cells = [
      `\`${path}${namesOf(setting, language)}\``,
      standardOf(setting, absent, language),
      rangeOf(setting),
      meaning,
    ];
    return [`|${cells.join(' |')}|`];
  });
}

/** Settings without a Japanese sentence, by their paths. */
export function untranslated(settings: Settings, comments: Comments, prefix = ''): string[] {
  return Object.entries(settings).flatMap(([key, setting]) => {
    const path = `${prefix}${key}`;
    if ('section' in setting) return untranslated(setting.section, comments, `${path}.`);
    return partsOf(path, comments.get(path) ?? '').ja === '' ? [path] : [];
  });
}

function partsOf(path: string, comment: string) {
  const [, en = '', ja = '', absent = ''] = /^(.*?)(?: @ja (.*?))?(?: @absent (.*))?$/.exec(comment) ?? [];
  if (en === '') throw new Error(`${path} has no comment such as /** Meaning. @ja 意味 */`);
  return { en: en.replace(/\.$/, ''), ja, absent: absent.split(' | ') };
}

const NAMES = [
  { of: PRIORITIES, en: 'priority', ja: '優先度' },
  { of: CHANNELS, en: 'channel', ja: 'チャネル' },
  { of: LANES, en: 'lane', ja: 'レーン' },
];

function namesOf(setting: Setting, language: Language): string {
  const placeholders: string[] = [];
  for (let standard = standardIn(setting); isNamed(standard); standard = Object.values(standard)[0]) {
    const [first] = Object.keys(standard);
    // Free names, as of tags.
    if (first === undefined) break;
    const known = NAMES.find(({ of }) => of.some((name) => name === first)) ?? { en: 'function', ja: '関数' };
    placeholders.push(`.<${known[language]}>`);
  }
  return placeholders.join('');
}

function standardOf(setting: Setting, absent: readonly string[], language: Language): string {
  const standard = standardIn(setting);
  if (standard === undefined) return (language === 'en' ? absent[0] : absent[1]) || { en: '–', ja: 'なし' }[language];
  if (!isNamed(standard)) return typeof standard === 'number' ? numberOf(standard) : `\`${textOf(standard)}\``;
  const shown = Object.entries(standard).map(([name, value]) => {
    return { name, value: isNamed(value) ? Object.values(value).map(numberOf).join('/') : numberOf(value) };
  });
  const [[usual, most] = ['', []]] = [...Map.groupBy(shown, ({ value }) => value)].sort(
    (a, b) => b[1].length - a[1].length,
  );
  const others = shown.filter(({ value }) => value !== usual);
  // Names that mostly have the same value are listed only where they differ.
  if (most.length > 2) return [usual, ...others.map(({ name, value }) => `\`${name}\` ${value}`)].join(', ');
  const ofChannel = Object.keys(standard).some((name) => CHANNELS.some((channel) => channel === name));
  return shown.map(({ name, value }) => (ofChannel ? `${name} ${value}` : value)).join(', ');
}

function rangeOf(setting: Setting): string {
  return 'from' in setting ? `${numberOf(setting.from)}–${numberOf(setting.to)}` : '';
}

const standardIn = (setting: Setting): unknown => ('section' in setting ? undefined : setting.standard);
const isNamed = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const numberOf = (value: unknown) => Number(value).toLocaleString('en');
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
