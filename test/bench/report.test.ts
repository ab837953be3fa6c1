import { describe, expect, it } from 'vitest';
import { printable } from '../../src/terminal/printable.ts';
import { judge } from '../../tools/bench/figure.ts';
import { renderReport, reportOf } from '../../tools/bench/report.ts';

const STARTED = new Date('2026-03-01T10:30:00.000Z');
const ENDED = new Date('2026-03-01T10:31:05.000Z');
const written = judge({
  id: 'w',
  what: 'writes',
  figure: 4,
  unit: 'WU',
  budget: { max: 4 },
  plain: 203,
  note: 'a note',
});
const read = judge({
  id: 'r',
  what: 'reads',
  figure: 1.5312,
  unit: 'RU',
  budget: { max: 1 },
  details: { scanned: 7071.3 },
});
const render = (...args: Parameters<typeof reportOf>) => printable(renderReport(reportOf(...args)), false);

describe('the report for people', () => {
  const text = render(STARTED, ENDED, [written, read], []);

  it('prints figure, budget, result and the plain reading beside each other', () => {
    expect(text).toMatch(/^writes +4 WU +≤ 4 WU +met +203 WU, 50\.8 times as much$/m);
  });

  it('says how far a budget is missed', () => {
    expect(text).toMatch(/^reads +1\.53 RU +≤ 1 RU +missed by 53 % +–$/m);
    expect(text).toContain('1 of 2 budgets met, in 65 s');
  });

  it('explains figures below the table', () => {
    expect(text).toMatch(/^writes: a note$/m);
    expect(text).toMatch(/^reads: scanned 7,071$/m);
  });

  it('names a benchmark that failed, and the reason', () => {
    expect(render(STARTED, ENDED, [], [{ benchmark: 'memory', error: 'no room' }])).toContain(
      'memory was not measured: no room',
    );
  });

  it('has colours only when asked', () => {
    const escapeCode = '\u001b[';
    expect(text).not.toContain(escapeCode);
    expect(printable(renderReport(reportOf(STARTED, ENDED, [written, read], [])), true)).toContain(escapeCode);
  });
});

it.each([
  { case: 'all budgets are met', figures: [written], failures: [], met: true },
  { case: 'one is missed', figures: [written, read], failures: [], met: false },
  { case: 'one was not measured', figures: [written], failures: [{ benchmark: 'b', error: 'e' }], met: false },
])('the report for machines says met: $met when $case', ({ figures, failures, met }) => {
  expect(JSON.parse(JSON.stringify(reportOf(STARTED, ENDED, figures, failures)))).toMatchObject({
    met,
    seconds: 65,
    started_at: STARTED.toISOString(),
    figures: figures.map(({ id, figure, budget }) => ({ id, figure, budget })),
    failures,
  });
});
