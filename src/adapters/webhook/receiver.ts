import { integrationOf } from '../../core/delivery/send.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/paced-gate.ts';
import { integrationKey } from '../recipient/receiver-key.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { webhookCredential } from './credential.ts';

/** The integration, if its credential sets a rate. Other receivers are not limited. */
export function webhookReceiver(credentials: IntegrationCredentials) {
  return async (row: NotificationRow): Promise<PacedReceiver | undefined> => {
    if (!row.integration_config_id) return undefined;
    const loaded = await credentials.load(webhookCredential, { tenant_id: row.tenant_id, ...integrationOf(row) });
    const per_second = loaded.ok ? loaded.credential?.rate_per_second : undefined;
    const key = integrationKey(row);
    return key !== undefined && per_second !== undefined ? { key, per_second } : undefined;
  };
}
