import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeUntil } from '../../../../src/core/model/changes.ts';

interface Row {
  readonly version: number;
  readonly by: readonly number[];
}

/** A row that changes by its version. Between a read and a write of one writer, the others do theirs as `order` says. */
function sharedRow(order: readonly number[]) {
  const calls = { reads: 0, writes: 0 };
  let stored: Row | undefined = { version: 1, by: [] };
  let drawn = 0;
  const turn = async () => {
    // Whoever draws the larger number lets more of the others go first.
    for (let waits = order[drawn++ % order.length] ?? 0; waits > 0; waits--) await Promise.resolve();
  };
  return {
    calls,
    row: () => stored,
    remove: () => {
      stored = undefined;
    },
    async read() {
      await turn();
      calls.reads += 1;
      return stored;
    },
    async change(was: Row, set: Pick<Row, 'by'>) {
      await turn();
      calls.writes += 1;
      if (stored?.version !== was.version) return undefined;
      stored = { ...set, version: was.version + 1 };
      return stored;
    },
  };
}

const orders = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 40 });
const adds = (who: number) => (row: Row) => ({ by: [...row.by, who] });

describe('changeUntil', () => {
  it('loses no change, whoever writes between a read and a write', async () => {
    let conflicts = 0;
    const property = fc.asyncProperty(orders, fc.integer({ min: 1, max: 5 }), async (order, writers) => {
      const shared = sharedRow(order);
      const all = Array.from({ length: writers }, (_, who) => who);
      await Promise.all(all.map((who) => changeUntil(shared.read, adds(who), shared.change)));
      expect([...(shared.row()?.by ?? [])].sort()).toEqual(all);
      expect(shared.row()?.version).toBe(writers + 1);
      expect(shared.calls.reads).toBe(shared.calls.writes);
      conflicts += shared.calls.writes - writers;
    });
    await fc.assert(property);
    expect(conflicts).toBeGreaterThan(0);
  });

  it('gives up after its tries, with what it decided last; the row has the changes of those who were faster', async () => {
    let outrun = 0;
    const property = fc.asyncProperty(orders, fc.integer({ min: 1, max: 3 }), async (order, tries) => {
      const shared = sharedRow(order);
      const refused = { reads: 0, writes: 0 };
      const read = async () => ({ n: ++refused.reads });
      const refuse = async () => refused.writes++ < 0;
      const last = await changeUntil(read, ({ n }) => n, refuse, { tries });
      expect([last, refused]).toEqual([
        { row: { n: tries }, plan: tries },
        { reads: tries, writes: tries },
      ]);
      const ended = await Promise.all(
        [0, 1, 2, 3].map((who) => changeUntil(shared.read, adds(who), shared.change, { tries })),
      );
      const changed = ended.flatMap((one, who) => (one.changed ? [who] : []));
      expect([...(shared.row()?.by ?? [])].sort()).toEqual(changed);
      expect(changed.length).toBeGreaterThanOrEqual(Math.min(tries, 4));
      for (const one of ended) expect(one.plan).toBeDefined();
      outrun += 4 - changed.length;
    });
    await fc.assert(property);
    expect(outrun).toBeGreaterThan(0);
  });

  it('decides anew by the row as it is: where others have done it, nothing is written', async () => {
    const shared = sharedRow([0]);
    const once = (row: Row) => (row.by.length > 0 ? undefined : { by: [...row.by, 1] });
    const [first, second] = await Promise.all([1, 2].map(() => changeUntil(shared.read, once, shared.change)));
    expect(first?.changed).toEqual({ version: 2, by: [1] });
    expect(second).toEqual({ row: { version: 2, by: [1] } });
  });

  it('reads nothing where the row is known, and once where it is not', async () => {
    const shared = sharedRow([0]);
    const from = shared.row();
    await changeUntil(shared.read, adds(1), shared.change, { ...(from && { from }) });
    expect(shared.calls).toEqual({ reads: 0, writes: 1 });
    await changeUntil(shared.read, adds(2), shared.change);
    expect(shared.calls).toEqual({ reads: 1, writes: 2 });
  });

  it('says that there is no row, also where it is removed meanwhile', async () => {
    const shared = sharedRow([0]);
    const from = shared.row();
    shared.remove();
    expect(await changeUntil(shared.read, adds(1), shared.change)).toEqual({});
    expect(await changeUntil(shared.read, adds(1), shared.change, { ...(from && { from }) })).toEqual({});
    expect(shared.calls.writes).toBe(1);
  });

  it('repeats no call that failed, since nobody knows whether it was applied', async () => {
    const shared = sharedRow([0]);
    const change = async (was: Row, set: Pick<Row, 'by'>) => {
      await shared.change(was, set);
      throw new Error('no answer');
    };
    await expect(changeUntil(shared.read, adds(1), change)).rejects.toThrow('no answer');
    expect(shared.row()?.by).toEqual([1]);
  });
});
