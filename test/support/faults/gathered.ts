import { GatheredError, gather, RECORD_HOLD_MS, SETTLEMENT_HOLD_MS } from '../../../src/adapters/batching/gather.ts';
import { SendsUnderWay } from '../../../src/adapters/batching/sends-under-way.ts';
import type { ClaimStore, RecordStore } from '../../../src/core/delivery/ports.ts';
import type { Sender } from '../../../src/core/delivery/sender.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import type { RowChange } from '../../../src/core/model/row-change.ts';
import { eventually } from './worker.ts';

interface Ports {
  readonly rows: ClaimStore;
  readonly records: RecordStore;
  readonly sender: Sender;
}

/**
 * The ports as the channel function has them: outcomes wait for those of sends that are under way, and share a call. A
 * call may be applied in part: its items pass through the worker one after the other.
 */
export function gathered({ rows, records, sender }: Ports): Ports {
  const sends = new SendsUnderWay();
  const putIfAbsent = gather<RetryRecord, boolean>(
    async (batch) => {
      const results: (boolean | GatheredError)[] = [];
      for (const record of batch)
        results.push(await records.putIfAbsent(record).catch((error) => new GatheredError(error)));
      return results;
    },
    { max: 25, wait_ms: 3, hold: { sends, most_ms: RECORD_HOLD_MS }, schedule: inWorldTime },
  );
  const settle = gather<Parameters<ClaimStore['settle']>, boolean>(
    async (batch) => {
      const results: (boolean | GatheredError)[] = [];
      for (const args of batch) results.push(await rows.settle(...args).catch((error) => new GatheredError(error)));
      return results;
    },
    { max: 25, wait_ms: 3, hold: { sends, most_ms: SETTLEMENT_HOLD_MS }, schedule: inWorldTime },
  );
  return {
    rows: { ...rows, settle: (row, change: RowChange) => settle([row, change]) },
    records: { ...records, putIfAbsent },
    sender: { ...sender, send: (delivery, signal) => sends.during(() => sender.send(delivery, signal)) },
  };
}

/** The world's clock stands still while a worker works; a longer wait lets others act more. */
function inWorldTime(run: () => void, ms: number): () => void {
  let cancelled = false;
  void (async () => {
    for (let waited = 0; waited < ms && !cancelled; waited += 50) await eventually();
    if (!cancelled) run();
  })();
  return () => {
    cancelled = true;
  };
}
