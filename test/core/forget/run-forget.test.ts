import { expect, it } from 'vitest';
import { type ForgetState, newForget } from '../../../src/core/forget/forget-state.ts';
import { type ForgetPorts, forget } from '../../../src/core/forget/run-forget.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, CONTENT, dueRow, iso, T0 } from '../../support/rows.ts';

const nothing = async () => ({ items: [], read_units: 0 });

/** Of a stage in which nobody is found, but for what is given. */
const portsOf = (
  { forgetRows: rows, records, erasable }: MemoryTables,
  given: Pick<ForgetPorts, 'clock'> & Partial<ForgetPorts>,
): ForgetPorts => ({
  tenant_id: dueRow().tenant_id,
  rows,
  records,
  erasable,
  rowPage: nothing,
  contentPage: nothing,
  names: () => false,
  whose: async () => undefined,
  contentOf: async () => undefined,
  eraseFallback: async () => {},
  ...given,
});

it('erases the row that a repeated request puts at the moment when its content is erased', async () => {
  const clock = () => at(0);
  const tables = new MemoryTables(clock);
  const { log_id, tenant_id } = dueRow();
  tables.content.set(log_id, { ...CONTENT, tenant_id });
  const erasable = {
    ...tables.erasable,
    eraseContent: async (row: { log_id: string; tenant_id: string }) => {
      if (!tables.log.has(log_id)) tables.log.set(log_id, { ...dueRow() });
      return tables.erasable.eraseContent(row);
    },
  };
  const state = {
    ...newForget(T0),
    phase: 'later' as const,
    later: [{ log_id, of: 'content' as const, at: 0, looks: 0 }],
  };
  const ports = portsOf(tables, {
    erasable,
    clock,
    contentOf: async () => 'recipient' as const,
  });
  const run = { run_id: 'manual-1', dry_run: false, rate: 1_000, pause: async () => {}, isStopping: () => false };
  await forget(state, ports, run);
  expect(state).toMatchObject({ phase: 'done', notifications: { cancelled: 1 }, contents_without_row: 0 });
  expect(tables.log.get(log_id)).toMatchObject({ failure_reason: 'CANCELLED', erased_at: iso() });
});

it.each([
  ['is for somebody else now', undefined, { send_status: 'RETRY' }],
  ['is still for them', 'recipient' as const, { failure_reason: 'CANCELLED', erased_at: iso(100_000) }],
])('what was corrected since it was found is erased only if it is theirs: it %s', async (_, whose, left) => {
  let passed = 0;
  const clock = () => at(passed);
  const tables = new MemoryTables(clock);
  const row = dueRow();
  const { log_id, tenant_id } = row;
  tables.content.set(log_id, { ...CONTENT, tenant_id });
  const ports = portsOf(tables, {
    clock,
    // An operator corrects it between the page and its erasure.
    rowPage: async (segment: number) => {
      if (segment !== 0) return nothing();
      tables.log.set(log_id, { ...row, life: 2, send_status: 'RETRY' });
      return { items: [{ ...row }], read_units: 0 };
    },
    whose: async () => 'recipient' as const,
    contentOf: async () => whose,
  });
  const pause = async () => {
    passed += 100_000;
  };
  const run = { run_id: 'manual-1', dry_run: false, rate: 1_000_000, pause, isStopping: () => false };
  await forget(newForget(T0), ports, run);
  expect(tables.log.get(log_id)).toMatchObject(left);
  expect(tables.content.get(log_id)?.erased_at === undefined).toBe(whose === undefined);
});

it.each([
  ['its writer had named them as the fallback, and an image from before is stored behind the scan', 'fallback'],
  ['it was corrected since, and they are the fallback of another', 'recipient'],
] as const)('erases the fallback recipient of a content once more a moment later: %s', async (_, whose) => {
  let passed = 0;
  const clock = () => at(passed);
  const tables = new MemoryTables(clock);
  const row = { ...dueRow(), fallback_channel: 'email' as const, fallback_recipient: 'ann@example.com' };
  const found = whose === 'fallback' ? row : { ...row, life: 7 };
  tables.log.set(row.log_id, row);
  const left = new Set<string>();
  const ports = portsOf(tables, {
    clock,
    rowPage: async (segment: number) => (segment === 0 ? { items: [found], read_units: 0 } : nothing()),
    whose: async () => whose,
    contentOf: async (log_id: string) => (left.has(log_id) ? ('fallback' as const) : undefined),
    eraseFallback: async (log_id: string) => void left.delete(log_id),
  });
  const pause = async () => {
    passed += 100_000;
  };
  const onProgress = ({ phase }: ForgetState) => {
    if (phase === 'members') left.add(row.log_id);
  };
  const run = { run_id: 'manual-1', dry_run: false, rate: 1_000_000, pause, onProgress, isStopping: () => false };
  const state = newForget(T0);
  await forget(state, ports, run);
  expect({ left: [...left], later: state.later, phase: state.phase }).toEqual({ left: [], later: [], phase: 'done' });
});

it.each([
  ['an hour', 3_600_000, 4],
  ['longer, so it is scanned anew', 3_600_001, 12],
])('goes on from a state that is old by %s', async (_, age, scans) => {
  const clock = () => at(0);
  const tables = new MemoryTables(clock);
  const state: ForgetState = { ...newForget(T0), started_at: iso(-age), phase: 'contents' };
  let pages = 0;
  const page = async () => {
    pages += 1;
    return nothing();
  };
  const ports = portsOf(tables, {
    clock,
    rowPage: page,
    contentPage: page,
  });
  const run = { run_id: 'manual-1', dry_run: false, rate: 1_000, pause: async () => {}, isStopping: () => false };
  await forget(state, ports, run);
  expect({ pages, phase: state.phase }).toEqual({ pages: scans, phase: 'done' });
});

/** Microseconds of CPU per content whose fallback is erased, the least of three erasures. */
async function cpuOf(contents: number): Promise<number> {
  const erase = async () => {
    let now = T0.getTime();
    const clock = () => new Date(now);
    const tables = new MemoryTables(clock);
    const found = Array.from({ length: contents }, (_, i) => ({ log_id: `log-${i}`, whose: 'fallback' as const }));
    const none = { ...(await nothing()) };
    let erased = 0;
    const ports = portsOf(tables, {
      clock,
      contentPage: async (segment: number) => (segment === 0 ? { items: found, read_units: 0 } : none),
      eraseFallback: async () => {
        erased += 1;
      },
    });
    const pause = async (ms: number) => {
      now += ms;
    };
    const state = newForget(T0);
    const before = process.cpuUsage();
    await forget(state, ports, { run_id: 'manual-1', dry_run: false, rate: 1_000, pause, isStopping: () => false });
    const { user, system } = process.cpuUsage(before);
    expect({ erased, later: state.later, phase: state.phase }).toEqual({ erased: contents, later: [], phase: 'done' });
    return (user + system) / contents;
  };
  return Math.min(await erase(), await erase(), await erase());
}

it('costs the same per row, of however many rows the recipient is the fallback', async () => {
  const [few, many] = [await cpuOf(1_000), await cpuOf(16_000)];
  // It was six times as much, as the list of what is looked at again was copied for each row.
  expect(many / few).toBeLessThan(2);
});

it('takes the fallback recipient out of a row that is set aside between its page and the write', async () => {
  let passed = 0;
  const clock = () => at(passed);
  const tables = new MemoryTables(clock);
  const { work_queue: _, work_at: __, ...taken } = dueRow({ send_status: 'PENDING' });
  const row = { ...taken, fallback_channel: 'email' as const, fallback_recipient: 'ann@example.com' };
  const ports = portsOf(tables, {
    clock,
    rowPage: async (segment: number) => {
      if (segment !== 0) return nothing();
      tables.log.set(row.log_id, { ...row, send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' });
      return { items: [row], read_units: 0 };
    },
    whose: async (found: object) => ('fallback_recipient' in found ? ('fallback' as const) : undefined),
  });
  const pause = async () => {
    passed += 100_000;
  };
  const state = newForget(T0);
  await forget(state, ports, { run_id: 'manual-1', dry_run: false, rate: 1_000_000, pause, isStopping: () => false });
  expect(tables.log.get(row.log_id)).not.toHaveProperty('fallback_recipient');
  expect(state).toMatchObject({ phase: 'done', fallbacks: 1 });
});
