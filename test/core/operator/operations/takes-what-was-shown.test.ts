import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NotificationRow } from '../../../../src/core/model/notification.ts';
import {
  createOperation,
  type OperationAct,
  operate,
  possibleActs,
} from '../../../../src/core/operator/operations/operate.ts';
import type { Kind } from '../../../../src/core/operator/operations/operation.ts';
import { OPERATION_CLAIM_MS, runOperation } from '../../../../src/core/operator/operations/run-operation.ts';
import { NONE, type SearchFilter } from '../../../../src/core/operator/search-filter.ts';
import { deadRow, stoppedRow, storedRow } from '../../../support/cli/operations.ts';
import { KINDS, operationsWorld, request } from '../../../support/operations-world.ts';

const STATES = ['dead', 'due', 'waiting', 'claimed', 'stopped', 'delivered', 'deleted'] as const;
type State = (typeof STATES)[number];
const HOUR_MS = 3_600_000;

interface Given {
  readonly state: State;
  readonly tenant_id: string;
  readonly integration: string | undefined;
  readonly channel: 'slack' | 'webhook';
  readonly hours: number;
}

/** A row as the pipeline leaves it in this state, last changed at `at`. */
function rowIn(log_id: string, { state, tenant_id, integration, channel, hours }: Given, at: Date): NotificationRow {
  const updated_at = at.toISOString();
  const created_at = new Date(at.getTime() - hours * HOUR_MS).toISOString();
  const own = {
    tenant_id,
    channel,
    updated_at,
    created_at,
    tenant_created_at: `${tenant_id}#${created_at}`,
    ...(integration !== undefined && { integration_config_id: integration }),
  };
  const due = { ...own, work_at: updated_at };
  switch (state) {
    case 'dead':
      return deadRow(log_id, due);
    case 'deleted':
      return deadRow(log_id, { ...due, is_deleted: true });
    case 'stopped':
      return { ...stoppedRow(log_id), ...own };
    case 'delivered':
      return storedRow(log_id, { ...due, send_status: 'SUCCESS', work_queue: undefined as never });
    case 'waiting':
      return storedRow(log_id, { ...own, work_at: new Date(at.getTime() + 24 * HOUR_MS).toISOString() });
    case 'claimed':
      return storedRow(log_id, {
        ...due,
        send_status: 'SENDING',
        claim_until: new Date(at.getTime() + 24 * HOUR_MS).toISOString(),
      });
    case 'due':
      return storedRow(log_id, due);
  }
}

/** In which states each kind takes a row, said again without the code under test. */
function isTakenBy(kind: Kind, state: State, include_stopped: boolean): boolean {
  switch (kind) {
    case 'redrive':
      return state === 'dead' || (include_stopped && state === 'stopped');
    case 'correct':
      return state === 'dead';
    case 'give_up':
      return state === 'dead' || state === 'deleted';
    case 'retry':
      return state === 'waiting';
    case 'cancel':
      return state === 'waiting' || state === 'due';
  }
}

const givenIn = (states: readonly State[]): fc.Arbitrary<Given> =>
  fc.record({
    state: fc.constantFrom(...states),
    tenant_id: fc.constantFrom('T1', 'T1', 'T1', 'T2'),
    integration: fc.constantFrom(undefined, 'A', 'A', 'B'),
    channel: fc.constantFrom('slack' as const, 'slack' as const, 'webhook' as const),
    hours: fc.integer({ min: 0, max: 10 }),
  });
const given = givenIn(STATES);
/** Two thirds are what the operation is about: else most histories would take nothing. */
const rowsFor = (kind: Kind) =>
  fc.array(
    fc.oneof({ weight: 2, arbitrary: givenIn(STATES.filter((state) => isTakenBy(kind, state, false))) }, given),
    { maxLength: 60, size: 'max' },
  );
const filters: fc.Arbitrary<SearchFilter> = fc.oneof(
  fc.constant({}),
  fc.record(
    {
      tenant_id: fc.constantFrom('T1', 'T2'),
      integration_config_id: fc.constantFrom(NONE, 'A'),
      channel: fc.constantFrom('slack' as const),
    },
    { requiredKeys: [] },
  ),
);
/** What happens while the operation is shown, interrupted, resumed. */
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('kill' as const), after: fc.integer({ min: 0, max: 30 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('change' as const), row: fc.nat(), to: given }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('new' as const), row: given }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('pause' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('cancel' as const) }) },
  // Storage answers one process late, and another one works meanwhile.
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('stall' as const),
      read: fc.nat(12),
      pages: fc.integer({ min: 0, max: 3 }),
      cancels: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('other' as const), kind: fc.constantFrom(...KINDS), filter: filters }),
  },
);

describe('a bulk operation', () => {
  it('takes what its preview showed but what changed since, never more, never of another tenant', async () => {
    const reached = { taken: 0, left: 0, cancelled: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...KINDS).chain((kind) =>
          fc.record({
            rows: rowsFor(kind),
            kind: fc.constant(kind),
            filter: filters,
            include_stopped: fc.boolean(),
            limit: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
            max_hours: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
            rate: fc.constantFrom(3, 10, 100),
            events: fc.array(event, { maxLength: 8, size: 'max' }),
          }),
        ),
        async ({ rows, kind, filter, include_stopped, limit, max_hours, rate, events }) => {
          const at = operationsWorld();
          const start = at.deps.clock();
          const known = new Map(rows.map((row, i) => [`N${i}`, row]));
          for (const [log_id, row] of known) at.put(rowIn(log_id, row, start));
          at.pass(1_000);
          const more = {
            ...(limit !== undefined && { limit }),
            ...(max_hours !== undefined && { max_age_ms: max_hours * HOUR_MS + HOUR_MS / 2 }),
          };
          const asked = request(kind, { filter, rate, include_stopped, ...more });
          const { operation_id } = await createOperation(asked, at.deps);
          await at.run(operation_id, []);

          const shown = [...known].flatMap(([log_id, row]) => {
            const { tenant_id, integration_config_id: integration, channel } = filter;
            const isMatch =
              (tenant_id === undefined || row.tenant_id === tenant_id) &&
              (integration === undefined || (row.integration ?? NONE) === integration) &&
              (channel === undefined || row.channel === channel);
            const isYoung =
              (kind !== 'redrive' && kind !== 'correct') || max_hours === undefined || row.hours <= max_hours;
            return isMatch && isYoung && isTakenBy(kind, row.state, include_stopped) ? [log_id] : [];
          });
          const most = Math.min(shown.length, limit ?? shown.length);
          expect(await at.stored(operation_id)).toMatchObject({ status: 'ready', preview: { taken: most } });

          const changed = new Set<string>();
          const mine: string[] = [];
          at.changed.length = 0;
          const run = async (kills: readonly number[]) => {
            await at.run(operation_id, kills, { alone: kills.length > 0 });
            const taken = at.changed.splice(0);
            expect(taken.filter((log_id) => !shown.includes(log_id) || changed.has(log_id))).toEqual([]);
            mine.push(...taken);
          };
          const ask = async (act: OperationAct) => {
            if (!possibleActs(await at.stored(operation_id)).includes(act)) return false;
            await operate(operation_id, act, at.deps);
            return true;
          };
          await ask('start');
          let isCancelled = false;
          for (const [i, one] of events.entries()) {
            at.pass(1_000);
            if (one.what === 'kill') await run([one.after]);
            if (one.what === 'pause' && (await ask('pause'))) {
              await run([]);
              await ask('resume');
            }
            if (one.what === 'cancel' && !isCancelled) isCancelled = await ask('cancel');
            if (one.what === 'stall') {
              let reads = 0;
              let pages = 0;
              const read = async (log_id: string) => {
                if (reads++ === one.read) {
                  at.pass(OPERATION_CLAIM_MS + 1);
                  if (one.cancels) isCancelled = (await ask('cancel')) || isCancelled;
                  await runOperation(operation_id, at.deps, () => pages++ >= one.pages);
                }
                return at.deps.rows.read(log_id);
              };
              await runOperation(operation_id, { ...at.deps, rows: { ...at.deps.rows, read } }, () => false);
              await run([]);
            }
            if (one.what === 'change' && rows.length > 0) {
              const log_id = `N${one.row % rows.length}`;
              changed.add(log_id);
              const { tenant_id = '' } = known.get(log_id) ?? {};
              at.put(rowIn(log_id, { ...one.to, tenant_id }, at.deps.clock()));
            }
            if (one.what === 'new') at.put(rowIn(`M${i}`, one.row, at.deps.clock()));
            if (one.what === 'other') {
              const other = await createOperation(request(one.kind, { filter: one.filter }), at.deps);
              await at.run(other.operation_id, []);
              await operate(other.operation_id, 'start', at.deps);
              await at.run(other.operation_id, []);
              for (const log_id of at.changed.splice(0)) changed.add(log_id);
            }
          }
          await run([]);

          const { status, progress } = await at.stored(operation_id);
          expect(status).toBe(isCancelled ? 'cancelled' : 'done');
          expect(new Set(mine).size).toBe(mine.length);
          expect(mine.length).toBeLessThanOrEqual(most);
          // What others changed after it was taken may be counted as left.
          expect(progress.taken).toBeLessThanOrEqual(mine.length);
          if (changed.size === 0) expect(progress.taken).toBe(mine.length);
          if (isCancelled) {
            reached.cancelled += mine.length > 0 && mine.length < most ? 1 : 0;
            return;
          }
          if (changed.size === 0) expect(mine.length).toBe(most);
          if (limit === undefined) {
            expect(shown.filter((log_id) => !changed.has(log_id) && !mine.includes(log_id))).toEqual([]);
          }
          reached.taken += mine.length;
          reached.left += shown.length - mine.length;
        },
      ),
      { numRuns: Number(process.env['FAULT_RUNS'] ?? 100) * 5 },
    );
    expect(reached.taken).toBeGreaterThan(0);
    expect(reached.left).toBeGreaterThan(0);
    expect(reached.cancelled).toBeGreaterThan(0);
  });
});
