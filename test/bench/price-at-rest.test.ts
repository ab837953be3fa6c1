import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { millionTables, ours, SYSTEMS, savings } from '../../tools/bench/scale/a-million.ts';
import { priceAtRest, pricesTable, STAGES_AT_REST, totalOf } from '../../tools/bench/scale/price-at-rest.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

describe('the price at rest, by list prices and without free tiers', () => {
  it.each([
    ['least', 3],
    ['default', 10],
    ['everything', 30],
  ] as const)('of the stage %s is at most $%i a month', (name, most) => {
    expect(totalOf(priceAtRest(STAGES_AT_REST[name]))).toBeLessThanOrEqual(most);
    expect(totalOf(priceAtRest(STAGES_AT_REST[name]))).toBeGreaterThan(most * 0.8);
  });

  it('counts each key, secret, polled queue, metric of an alarm, custom metric, dashboard and run', () => {
    expect(priceAtRest(STAGES_AT_REST.everything).map(({ en, count }) => [en, Math.round(count)])).toEqual([
      ['KMS keys', 3],
      ['secrets', 3],
      ['queues that Lambda polls', 13],
      ['metrics of alarms', 94],
      ['custom metrics', 22],
      ['dashboards', 1],
      ['scheduled runs', expect.any(Number)],
    ]);
  });

  it.each([
    ['en', 'docs/reference/costs.md'],
    ['ja', 'docs/reference/costs.ja.md'],
  ] as const)('is in the document as `npm run bench:scale` prints it, in %s', (language, file) => {
    expect(readFileSync(join(PROJECT_ROOT, file), 'utf8')).toContain(pricesTable(language));
  });
});

describe('a million webhooks of which 5 % are retried', () => {
  it.each([
    ['en', 'docs/reference/costs.md'],
    ['ja', 'docs/reference/costs.ja.md'],
  ] as const)('are in the document as `npm run bench:scale` prints them, in %s', (language, file) => {
    expect(readFileSync(join(PROJECT_ROOT, file), 'utf8')).toContain(millionTables(language));
  });

  it('cost what their write units do more than anything else, and less by what can be left out', () => {
    const { dynamodb, ...others } = ours();
    expect(dynamodb).toBeCloseTo((1e6 * 8.25 * 0.625) / 1e6 + 0.0656, 3);
    expect(SYSTEMS.ours[0]).toBeCloseTo(dynamodb + Object.values(others).reduce((a, b) => a + b), 9);
    expect(Object.values(others).every((one) => one < dynamodb)).toBe(true);
    const { batches, access_log } = savings();
    expect(batches + access_log).toBeLessThan(SYSTEMS.ours[0] - dynamodb);
  });
});
