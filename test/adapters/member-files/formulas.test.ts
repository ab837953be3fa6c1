import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CSV_HEADER, csvLine, readOwn } from '../../../src/adapters/member-files/own-format.ts';

const MEMBER = {
  member_id: 'm-1',
  email: 'a@example.com',
  status: 'free',
  labels: [] as string[],
  newsletters: [] as string[],
  created_at: '2026-01-01T00:00:00.000Z',
};
const read = (line: string) => {
  const [row = {}] = parse(`${CSV_HEADER}${line}`, { columns: true }) as Record<string, string>[];
  return readOwn(Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== '')), Object.keys(row));
};

/** The cells of a line by commas, as it is meant, and as a spreadsheet splits it that separates by something else. */
function cellsOf(line: string): string[] {
  const text = line.trimEnd();
  return [...(parse(text)[0] as unknown as string[]), ...text.split(';'), ...text.split('\t')];
}
const isFormula = (cell: string) => /^[\s"]*[=+\-@＝＋－＠]/.test(cell);

describe('a line of an export', () => {
  it.each([
    '=1+1',
    '＝1+1',
    '＋cmd',
    '－1',
    '＠SUM(1)',
    'x;=cmd|" /C calc"!A0',
    'x; =1',
    'x;"=1',
    "x;'=1",
    "'=1",
    "' =1",
    'a,=1',
    '東京;＝1',
  ])('has no formula in any dialect, and is the same when it is imported again: %s', (text) => {
    const line = csvLine({ ...MEMBER, name: text, labels: ['vip', text] });
    expect(cellsOf(line).filter(isFormula)).toEqual([]);
    expect(read(line)).toMatchObject({ name: text, labels: ['vip', text.normalize()] });
  });

  it('is so for any text', () => {
    const parts = fc.constantFrom(...`=+-@;'",\\xＡ＝＋－＠東`);
    const text = fc.string({ unit: parts, minLength: 1, maxLength: 12 });
    let formulas = 0;
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1, maxLength: 3 }), (name, labels) => {
        const line = csvLine({ ...MEMBER, name, labels });
        if (/(^|;)[\s'"]*[=+\-@＝＋－＠]/.test(name)) formulas += 1;
        expect(cellsOf(line).filter(isFormula)).toEqual([]);
        expect(read(line)).toMatchObject({ name, labels });
      }),
      { numRuns: 2_000 },
    );
    expect(formulas).toBeGreaterThan(200);
  });
});
