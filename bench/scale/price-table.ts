import type { StageConfigInput } from '../../lib/config/stage-config.ts';
import { priceAtRest, STAGES_AT_REST, totalOf } from './price-at-rest.ts';

const { least: LEAST, default: PLAIN, everything: EVERYTHING } = STAGES_AT_REST;

/** What a stage costs more with a part than without it. */
const PARTS: readonly (readonly [en: string, ja: string, with_it: StageConfigInput, without: StageConfigInput])[] = [
  ['a channel', 'チャネル 1 つ', { ...LEAST, channels: ['webhook', 'slack'] }, LEAST],
  ['the API', 'API', { ...LEAST, api: {} }, LEAST],
  ['newsletters', 'ニュースレター', PLAIN, { ...PLAIN, newsletters: false }],
  ['newsletters as data', 'ニュースレター（データのみ）', { ...LEAST, newsletters: 'data' }, LEAST],
  ['outcomes', '結果の通知', { ...PLAIN, outcomes: true }, PLAIN],
  ['critical monitoring', '監視（critical）', PLAIN, { ...PLAIN, monitoring: 'off' }],
  ['full monitoring, instead', '監視（full、critical との差）', { ...PLAIN, monitoring: 'full' }, PLAIN],
  ['the console', 'コンソール', EVERYTHING, { ...EVERYTHING, console: 'off' }],
];

const WORDS = {
  en: {
    stages: ['least', 'default', 'everything'],
    total: '**dollars a month**',
    part: 'part',
    adds: 'adds, in dollars a month',
  },
  ja: { stages: ['最小', '既定', 'すべて'], total: '**1 か月のドル**', part: '要素', adds: '追加される 1 か月のドル' },
} as const;

/** The two tables of docs/reference/costs.md. */
export function pricesTable(language: 'en' | 'ja'): string {
  const words = WORDS[language];
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const stages = Object.values(STAGES_AT_REST).map(priceAtRest);
  const items = (stages[0] ?? []).map((first, i) => {
    const cells = stages.map((lines) => lines[i] ?? first);
    return row([first[language], ...cells.map(({ count, dollars }) => `${countOf(count)} (${dollars.toFixed(2)})`)]);
  });
  const totals = row([words.total, ...stages.map((lines) => `**${totalOf(lines).toFixed(2)}**`)]);
  const parts = PARTS.map(([en, ja, with_it, without]) => {
    const dollars = totalOf(priceAtRest(with_it)) - totalOf(priceAtRest(without));
    return row([{ en, ja }[language], dollars.toFixed(2)]);
  });
  return [
    row(['', ...words.stages]),
    row(['---', '---', '---', '---']),
    ...items,
    totals,
    '\n',
    row([words.part, words.adds]),
    row(['---', '---']),
    ...parts,
  ].join('');
}

function countOf(count: number): string {
  return count > 1_000 ? Math.round(count).toLocaleString('en-US') : String(Math.round(count * 10) / 10);
}
