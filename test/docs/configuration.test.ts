import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { sectionOf } from '../../lib/config/config-checks.ts';
import type { Values } from '../../lib/config/setting-types.ts';
import { SETTINGS } from '../../lib/config/settings.ts';
import { settingsJson } from '../../lib/config/settings-json.ts';
import { settingsFromJson } from '../../src/adapters/deployment/settings-json.ts';
import { BREAKER_SETTINGS, breakerPolicyOf } from '../../src/core/breaker/breaker-policy.ts';
import type { Configured, NamedSettings } from '../../src/core/model/setting.ts';
import { commentsOf, type Language, rowsOf, untranslated } from '../support/docs/settings-table.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const HEADS = {
  en: '|key |default |range |meaning|\n|---|---|---|---|\n',
  ja: '|キー |既定値 |範囲 |意味|\n|---|---|---|---|\n',
};

/** A page with these rows in place of those of its table of settings. */
function withRows(page: string, language: Language, rows: readonly string[]): string {
  const start = page.indexOf(HEADS[language]);
  const end = page.indexOf('\n\n', start);
  expect(start).toBeGreaterThan(0);
  return `${page.slice(0, start)}${HEADS[language]}${rows.join('\n')}${page.slice(end)}`;
}

const LIST = '未訳（英語のまま）: ';

/** The Japanese page with this list below its table; without one where nothing is missing. */
function withList(page: string, missing: readonly string[]): string {
  const bare = page.replace(new RegExp(`\\n\\n${LIST}[^\\n]*`), '');
  const end = bare.indexOf('\n\n', bare.indexOf(HEADS.ja));
  const list = missing.length === 0 ? '' : `\n\n${LIST}${missing.map((path) => `\`${path}\``).join(', ')}`;
  return `${bare.slice(0, end)}${list}${bare.slice(end)}`;
}

describe('the reference of the configuration', () => {
  const comments = commentsOf(join(PROJECT_ROOT, 'lib/config/settings.ts'), 'SETTINGS');

  // `npx vitest run test/docs/configuration.test.ts -u` writes both pages.
  it.each([
    ['en', 'docs/reference/configuration.md'],
    ['ja', 'docs/reference/configuration.ja.md'],
  ] as const)('has a row for each setting, in %s', async (language, file) => {
    const path = join(PROJECT_ROOT, file);
    const rows = rowsOf(SETTINGS, comments, language);

    expect(rows.length).toBeGreaterThan(70);
    await expect(withRows(readFileSync(path, 'utf8'), language, rows)).toMatchFileSnapshot(path);
  });

  it('lists below its Japanese table what is not translated yet', async () => {
    const path = join(PROJECT_ROOT, 'docs/reference/configuration.ja.md');
    await expect(withList(readFileSync(path, 'utf8'), untranslated(SETTINGS, comments))).toMatchFileSnapshot(path);
    expect(withList(withList(`${HEADS.ja}| a |\n\nText\n`, ['schedule']), [])).toBe(`${HEADS.ja}| a |\n\nText\n`);
  });

  it('reads in English what has no Japanese sentence, and says which setting has no sentence at all', () => {
    const { schedule } = SETTINGS;
    const bare = new Map([['schedule', 'When.']]);
    expect(rowsOf({ schedule }, bare, 'ja')).toEqual([expect.stringContaining('|When|')]);
    expect(untranslated({ schedule }, bare)).toEqual(['schedule']);
    expect(withList(`${HEADS.ja}| a |\n\nText\n`, ['schedule'])).toContain(
      '| a |\n\n未訳（英語のまま）: `schedule`\n\nText',
    );
    expect(() => rowsOf({ schedule }, new Map(), 'en')).toThrow('schedule has no comment');
  });
});

describe('a setting that is added to its room', () => {
  const DECLARED = `export const MORE = {
  ...OTHERS,
  /** Seconds that a probe may take. @ja 確認に使ってよい秒数 */
  patienceSeconds: { name: 'patience_seconds', from: 1, to: 60, unit: 'seconds', standard: 7 },
};
const OTHERS = {};`;
  const MORE = {
    ...BREAKER_SETTINGS,
    patienceSeconds: { name: 'patience_seconds', from: 1, to: 60, unit: 'seconds', standard: 7 },
  } as const satisfies NamedSettings;
  const read = (given: object) => v.parse(sectionOf(MORE), given) as Values<typeof MORE>;

  it('has a type, on both sides of the environment', () => {
    expectTypeOf<Values<typeof MORE>['patienceSeconds']>().toEqualTypeOf<number>();
    expectTypeOf<Configured<typeof MORE>['patience_seconds']>().toEqualTypeOf<number>();
  });

  it('has a default and a range, and a message that names it', () => {
    expect(read({})).toMatchObject({ patienceSeconds: 7, minSamples: 5 });
    expect(() => read({ patienceSeconds: 61 })).toThrow('must be a number from 1 to 60 (seconds), is 61');
  });

  it('reaches the functions, in the units of the domain', () => {
    const config = v.parse(settingsFromJson(MORE), settingsJson(MORE, read({ patienceSeconds: 9 })));
    expect(breakerPolicyOf(config)).toMatchObject({ patience_ms: 9_000, min_samples: 5, window_ms: 120_000 });
    expect(v.is(settingsFromJson(MORE), settingsJson(BREAKER_SETTINGS, read({})))).toBe(false);
  });

  it('has its row in both languages', () => {
    const comments = commentsOf('more.ts', 'MORE', () => DECLARED);
    const { patienceSeconds } = MORE;
    expect(rowsOf({ patienceSeconds }, comments, 'en')).toEqual([
      '|`patienceSeconds` |7 |1–60 |Seconds that a probe may take|',
    ]);
    expect(rowsOf({ patienceSeconds }, comments, 'ja')).toEqual(['|`patienceSeconds` |7 |1–60 |確認に使ってよい秒数|']);
  });
});
