import { describe, expect, it } from 'vitest';
import { onFirstUse } from '../../../src/adapters/batching/gather.ts';

describe('a value that is made on first use', () => {
  it('is made once, also for simultaneous callers', async () => {
    let made = 0;
    const value = onFirstUse(async () => ++made);
    expect(made).toBe(0);
    expect(await Promise.all([value(), value()])).toEqual([1, 1]);
    expect(await value()).toBe(1);
  });

  it('is made anew after a failure', async () => {
    let tries = 0;
    const value = onFirstUse(async () => {
      if (++tries === 1) throw new Error('no such chunk');
      return tries;
    });
    await expect(value()).rejects.toThrow('no such chunk');
    expect(await value()).toBe(2);
  });
});
