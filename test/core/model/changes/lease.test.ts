import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLeased, LEASE, Lease } from '../../../../src/core/model/changes.ts';

const LEASE_MS = 10_000;

interface Row {
  readonly version: number;
  readonly claim_id?: string;
  readonly claim_until?: string;
  readonly writers: readonly string[];
}
interface Change {
  readonly set: Partial<Omit<Row, 'version'>>;
  readonly remove?: readonly (keyof Row)[];
}

/** A row that changes by its version, and a clock. `unanswered`: the next write is applied, and its answer lost. */
function heldRow() {
  let now = Date.parse('2026-03-01T10:00:00.000Z');
  let row: Row = { version: 1, writers: [] };
  const world = {
    unanswered: false,
    writes: 0,
    now: () => new Date(now),
    pass(ms: number) {
      now += ms;
    },
    row: () => row,
    async change(was: Row, { set, remove = [] }: Change): Promise<Row | undefined> {
      world.writes += 1;
      // As DynamoDB does.
      if (remove.some((name) => name in set)) throw new Error('a path is set and removed');
      if (row.version !== was.version) return undefined;
      const next: Record<string, unknown> = { ...row, ...set, version: row.version + 1 };
      for (const name of remove) delete next[name];
      row = next as unknown as Row;
      if (!world.unanswered) return row;
      world.unanswered = false;
      throw new Error('no answer');
    },
  };
  const port = { read: async () => row, change: world.change, clock: world.now, lease_ms: LEASE_MS };
  return { world, port };
}

async function taken(row: Row, port: ReturnType<typeof heldRow>['port']) {
  const lease = await Lease.take<Row, Change>(row, { set: { claim_id: 'a' } }, port);
  if (lease === undefined) throw new Error('not taken');
  return lease;
}

const step = fc.record({
  who: fc.constantFrom('a', 'b'),
  does: fc.constantFrom('look', 'look', 'take', 'take', 'work', 'work', 'give back', 'something else'),
  ms: fc.constantFrom(0, 1, LEASE_MS / 2, LEASE_MS),
});

describe('a lease', () => {
  it('has one holder at a time, whoever looks, takes, works, dies and comes back late in whatever order', async () => {
    const seen = { taken: 0, lost: 0, late: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }), async (steps) => {
        const { world, port } = heldRow();
        const looked = new Map<string, Row>();
        const held = new Map<string, { token: string; lease: Lease<Row, Change> }>();
        for (const [n, { who, does, ms }] of steps.entries()) {
          const mine = held.get(who);
          const before = world.row();
          if (does === 'look' && !isLeased(before, world.now())) looked.set(who, before);
          const found = looked.get(who);
          if (does === 'take' && found !== undefined) {
            const token = `${who}${n}`;
            const taken = await Lease.take<Row, Change>(found, { set: { claim_id: token } }, port);
            expect(taken !== undefined).toBe(before.version === found.version);
            if (taken !== undefined) held.set(who, { token, lease: taken });
            seen.taken += taken === undefined ? 0 : 1;
            looked.delete(who);
          }
          if ((does === 'work' || does === 'give back') && mine !== undefined) {
            const isHis = before.claim_id === mine.token;
            seen.late += isHis && !isLeased(before, world.now()) ? 1 : 0;
            const remove = does === 'work' ? [] : LEASE;
            const changed = await mine.lease.change(({ writers }) => ({ set: { writers: [...writers, who] }, remove }));
            expect(changed !== undefined).toBe(isHis);
            expect(world.row().writers.length).toBe(before.writers.length + (isHis ? 1 : 0));
            expect(isLeased(world.row(), world.now())).toBe(isHis ? does === 'work' : isLeased(before, world.now()));
            seen.lost += isHis ? 0 : 1;
            if (!isHis || does === 'give back') held.delete(who);
          }
          if (does === 'something else') await world.change(before, { set: {} });
          world.pass(ms);
        }
      }),
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(2);
  });

  it('is kept where others change the row, and the plan is made of the row as it is', async () => {
    const { world, port } = heldRow();
    const lease = await taken(world.row(), port);
    await world.change(world.row(), { set: { writers: ['other'] } });
    world.pass(LEASE_MS - 1);
    const changed = await lease.change(({ writers }) => ({ set: { writers: [...writers, 'a'] } }));
    expect(changed?.writers).toEqual(['other', 'a']);
    expect(changed?.claim_until).toBe(new Date(world.now().getTime() + LEASE_MS).toISOString());
    await world.change(world.row(), { set: { writers: [] } });
    expect(await lease.tryChange({ set: { writers: ['lost update'] } })).toBe(false);
    expect(lease).toMatchObject({ lost: false, row: { writers: [] } });
  });

  it('is recognised by its token where the answer to its claim was lost, also when that is repeated later', async () => {
    const { world, port } = heldRow();
    const found = world.row();
    const take = () => Lease.take<Row, Change>(found, { set: { claim_id: 'a' } }, port);
    world.unanswered = true;
    await expect(take()).rejects.toThrow('no answer');
    world.pass(1_000);
    expect(await take()).toMatchObject({ row: { claim_id: 'a', version: 2 } });
  });

  it('that is lost writes nothing more, and asks nobody', async () => {
    const { world, port } = heldRow();
    const lease = await taken(world.row(), port);
    await world.change(world.row(), { set: { claim_id: 'b' } });
    expect(await lease.change(() => ({ set: { writers: ['a'] } }))).toBeUndefined();
    const { writes } = world;
    expect(await lease.change(() => ({ set: { writers: ['a'] } }))).toBeUndefined();
    expect(world.row().writers).toEqual([]);
    expect(world.writes).toBe(writes);
  });
});
