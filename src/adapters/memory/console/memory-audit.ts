import type { AuditLog, AuditRecord, KnownRequest } from '../../../core/operator/audit/audit.ts';

/** AuditLog in memory. */
export function createMemoryAudit(): AuditLog {
  const requests = new Map<string, KnownRequest>();
  const records = new Map<string, AuditRecord>();
  return {
    async begin(request_id, request) {
      const known = requests.get(request_id);
      if (known === undefined) requests.set(request_id, { ...request });
      return known;
    },
    async answer(request_id, answer) {
      const known = requests.get(request_id);
      if (known !== undefined) requests.set(request_id, { ...known, answer });
    },
    release: async (request_id) => void requests.delete(request_id),
    async takeOver(request_id, was, begun_at) {
      const known = requests.get(request_id);
      if (known === undefined || known.begun_at !== was.begun_at || known.answer !== undefined) return false;
      requests.set(request_id, { ...known, begun_at });
      return true;
    },
    async write(record) {
      records.set(`${record.at}#${record.audit_id}`, record);
    },
    async list({ from, to, limit, after, fits }) {
      const found = [...records]
        .filter(([item, { at }]) => at >= from && at <= to && (after === undefined || item < after.item))
        .sort(([a], [b]) => (a < b ? 1 : -1))
        .filter(([, record]) => fits(record));
      const last = found[limit - 1]?.[0];
      return {
        records: found.slice(0, limit).map(([, record]) => record),
        ...(found.length > limit && last !== undefined && { next: { day: last.slice(0, 10), item: last } }),
      };
    },
  };
}
