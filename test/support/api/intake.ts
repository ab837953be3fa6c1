import { createIdentities } from '../../../src/application/requests/idempotency.ts';
import type { IntakeRequest, NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import type { IntakeDeps } from '../../../src/core/intake/ports.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { createMemoryIntake } from '../../../tools/simulation/twins/row-stores.ts';
import { T0 } from '../rows.ts';

const REQUEST: NotificationRequest = {
  channel: 'webhook',
  priority: 'normal',
  recipient: 'https://example.com/hook',
  body: '本文',
  format: 'PLAIN',
  notification_id: 'NOTIF-1',
};

/** The intake on tables in memory, with a clock that tests move. */
export function memoryIntake() {
  let now = T0;
  let ids = 0;
  const clock = () => now;
  const tables = new MemoryTables(clock);
  const deps: IntakeDeps = {
    store: createMemoryIntake(tables),
    records: tables.records,
    policy: DEFAULT_RETRY_POLICY,
    shards: () => tables.shards.read(),
    clock,
    newId: () => String(++ids),
  };
  const pass = (ms: number) => {
    now = new Date(now.getTime() + ms);
  };
  return { tables, deps, clock, pass };
}

export function intakeRequest(
  key = 'key-1',
  changes: Partial<NotificationRequest> = {},
  tenant_id = 'tenant-1',
): IntakeRequest {
  const notification = { ...REQUEST, ...changes };
  return { tenant_id, notification, ...createIdentities('key').identify(tenant_id, key, notification) };
}
