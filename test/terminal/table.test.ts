import { expect, it } from 'vitest';
import { table } from '../../src/terminal/table.ts';

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
