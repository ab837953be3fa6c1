import { recordFaults } from './rules/record-rules.ts';
import { accountOf, type Fault, fault, firstAttempt, hasContentInTheClear, textOf } from './rules/row-rules.ts';
import { createdOf, found, REREAD_AFTER_MS, type Run, readRows, suspect } from './verification.ts';

/** Notifications whose records are read at the same time. */
const AT_ONCE = 8;

const LONGEST_ID = 100;

/** Each row that is read is in the sample with the same probability, however many there are (reservoir sampling). */
export function chooseForSample(log_id: string, { state, deps }: Run): void {
  // No row of ours has a longer one.
  if (log_id.length > LONGEST_ID) return;
  state.sampled_of += 1;
  const place =
    state.sample.length < state.asked.sample ? state.sample.length : Math.floor(deps.random() * state.sampled_of);
  if (place < state.asked.sample) state.sample[place] = log_id;
}

/** The sample shrinks as it is checked, so that another process goes on with the rest. */
export async function verifyRecords(run: Run): Promise<void> {
  const { state, deps } = run;
  while (state.sample.length > 0 && !deps.isStopping()) {
    const first = Math.max(0, state.sample.length - AT_ONCE);
    const some = state.sample.slice(first);
    const gone = await withoutContent(
      some.filter((_, i) => state.sampled_content[first + i] !== true),
      run,
    );
    const faults = await Promise.all(some.map((log_id) => recordsOf(log_id, run)));
    state.sample.length = first;
    state.records_checked += some.length;
    for (const log_id of gone) found(state, [fault('1', 'its content is gone, and nothing can be sent')], { log_id });
    some.forEach((log_id, i) => {
      if ((faults[i] ?? []).length > 0) suspect(run, 'records', log_id);
    });
    await deps.onProgress?.(state);
  }
}

/** Content is put before its row and read after it, so what is still to be sent has it. */
async function withoutContent(log_ids: readonly string[], run: Run): Promise<readonly string[]> {
  const { state, deps } = run;
  const before = new Date(Date.parse(state.started_at) - REREAD_AFTER_MS).toISOString();
  const rows = [...(await readRows(log_ids, run)).values()].filter((row) => {
    const account = accountOf(row, deps.clock().getTime()) ?? '';
    const created = createdOf(row) ?? state.started_at;
    const unfinished = ['waiting', 'in_flight', 'dead'].includes(account) && textOf(row['work_queue']) !== '';
    return unfinished && row['is_deleted'] !== true && !hasContentInTheClear(row) && created < before;
  });
  return rows.map(({ log_id }) => String(log_id));
}

export async function recordsOf(log_id: string, run: Run): Promise<readonly Fault[]> {
  const { state, deps, pace } = run;
  // Before the records: a record is written before its row says so, so every attempt that the row knows has its record.
  const row = (await readRows([log_id], run)).get(log_id);
  const records = await deps.ports.records(log_id);
  await pace.spend(state, records);
  return row === undefined ? [] : recordFaults(row, records.items, firstAttempt(row), deps.clock().getTime());
}
