import { describe, expect, it } from 'vitest';
import { type Part, readPage } from '../../../../src/adapters/dynamodb/operator/index-queries.ts';

/** Parts of 100 rows each, of which every `match`th is found. */
function partsOf(rows: number, match: number) {
  const counted = { read: 0 };
  async function* parts(): AsyncGenerator<Part<number>> {
    for (let first = 0; first < rows; first += 100) {
      counted.read += 100;
      const positions = Array.from({ length: 100 }, (_, i) => first + i).filter((position) => position % match === 0);
      const found = positions.map((position) => ({ row: { log_id: `N${position}` }, position }));
      yield { found, read: 100, end: first + 99 };
    }
  }
  return { parts: parts(), counted };
}

describe('a page of a search', () => {
  it('ends with the last row that fits, where the next one begins', async () => {
    const { parts } = partsOf(1_000, 10);
    expect(await readPage(parts, 25, () => true)).toMatchObject({ rows: { length: 25 }, next: 240 });
  });

  it('ends after a thousand rows that were read, although nothing matches, and goes on behind them', async () => {
    const { parts, counted } = partsOf(100_000, 1_000_000);
    expect(await readPage(parts, 25, (row) => row['log_id'] === 'nobody')).toEqual({ rows: [], next: 999 });
    expect(counted.read).toBe(1_000);
  });

  it('ends when it is full, without a look at what follows, for whoever asks for the next one anyway', async () => {
    const { parts, counted } = partsOf(1_000, 1);
    expect(await readPage(parts, 100, () => true, { eager: true })).toMatchObject({ rows: { length: 100 }, next: 99 });
    expect(counted.read).toBe(100);
  });

  it('is the last one at the end', async () => {
    const { parts } = partsOf(300, 100);
    expect(await readPage(parts, 25, () => true)).toMatchObject({ rows: { length: 3 } });
    expect((await readPage(partsOf(300, 100).parts, 25, () => true)).next).toBeUndefined();
  });
});
