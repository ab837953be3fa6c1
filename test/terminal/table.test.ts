import { expect, it } from 'vitest';
import { printable } from '../../src/terminal/printable.ts';
import { cut, table } from '../../src/terminal/table.ts';

/** Where each line's second column begins on a terminal, whose wide characters take two places. */
const PLACES: Readonly<Record<string, number>> = { 今週のお知らせ: 14, ｶﾅ: 2, Weekly: 6, '🎉 か\u3099': 5, 'Ａ、B': 5 };

it('aligns columns beside Japanese, emoji and combined characters', () => {
  const rows = Object.keys(PLACES).map((subject) => ({ subject, status: 'submitted' }));
  const [, ...lines] = table(rows, ['subject', 'status']).trimEnd().split('\n');
  const begins = lines.map((line, i) => {
    const subject = rows[i]?.subject ?? '';
    return (PLACES[subject] ?? 0) + line.indexOf('submitted') - subject.length;
  });
  expect(begins).toEqual(rows.map(() => 16));
});

const ROWS = [
  { id: '0198c3f2-7a44-7cc0', tenant: 'T1', why: 'the endpoint answered 503 Service Unavailable', at: '10:00' },
];
const lines = (room?: number) =>
  printable(table(ROWS, ['id', ['tenant', 'tenant', 'wide'], 'why', ['at', 'at', 'wide']], room), false).split('\n');

it('has all columns, and each row in one line, for a program that reads it', () => {
  expect(lines()).toEqual([
    'id                  tenant  why                                            at',
    '0198c3f2-7a44-7cc0  T1      the endpoint answered 503 Service Unavailable  10:00',
    '',
  ]);
});

it('leaves out of a narrow terminal what can be missed, from the last column on, and says so', () => {
  expect(lines(75).slice(0, 3)).toEqual([
    'id                  tenant  why',
    '0198c3f2-7a44-7cc0  T1      the endpoint answered 503 Service Unavailable',
    'In a wider terminal, and with --json: at',
  ]);
});

it('folds what is still too wide between words, and keeps ids whole', () => {
  const shown = lines(40);
  expect(shown.slice(0, 4)).toEqual([
    'id                  why',
    '0198c3f2-7a44-7cc0  the endpoint',
    '                    answered 503 Service',
    '                    Unavailable',
  ]);
  expect(shown.every((line) => line.length <= 40)).toBe(true);
  expect(lines(10)).toContain('0198c3f2-7a44-7cc0  the endpoint');
});

it.each([
  ['short', 5, 'short'],
  ['longer', 5, 'long…'],
  ['今週のお知らせ', 7, '今週の…'],
  ['🎉👩‍👩‍👧 party', 4, '🎉…'],
  ['か\u3099か\u3099', 3, 'か\u3099…'],
])('cuts %j to %i places between characters', (text, places, expected) => {
  expect(cut(text, places)).toBe(expected);
});
