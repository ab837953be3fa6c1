import type { IntakeRecord, IntakeStore } from '../../core/intake/ports.ts';
import { holds, isAny, isFree, ofGeneration } from '../dynamodb/table/guards.ts';
import type { MemoryTables } from './memory-tables.ts';

/** IntakeStore on tables in memory: the twin of dynamodb/intake/intake-store.ts. */
export function createMemoryIntake(tables: MemoryTables, records: Map<string, IntakeRecord> = new Map()): IntakeStore {
  const marked = (record: IntakeRecord): IntakeRecord => {
    const { erased_at } = tables.content.get(record.log_id) ?? {};
    return { ...record, ...(erased_at !== undefined && { erased_at }) };
  };
  return {
    async reserve({ record, tenant_id, content }, now) {
      const there = records.get(record.log_id);
      if (there !== undefined && !isAny(isFree(now), { ...there })) return marked(there);
      records.set(record.log_id, record);
      tables.content.set(record.log_id, { ...content, tenant_id });
      return undefined;
    },
    async find(log_id) {
      const there = records.get(log_id);
      return there && marked(there);
    },
    async advance(log_id, from_generation, expires_at) {
      const there = records.get(log_id);
      if (there === undefined || !holds(ofGeneration(log_id, from_generation), { ...there })) return;
      records.set(log_id, { ...there, latest_generation: from_generation + 1, expires_at });
    },
    async putRow(row, recipient, now) {
      const there = tables.log.get(row.log_id);
      if (!isAny(isFree(now), there)) return tables.row(row.log_id);
      tables.log.set(row.log_id, { ...row, recipient_hash: `hash of ${row.tenant_id}/${recipient}` });
      return undefined;
    },
    async findRow(log_id) {
      return tables.row(log_id);
    },
  };
}
