import { createHash } from 'node:crypto';
import type { NotificationRow } from '../../core/model/notification.ts';

/** The budget of an integration, which all tenants share that may use it. */
export function integrationKey({ integration_config_id: id }: NotificationRow): string | undefined {
  return id ? shortName(`integration ${id}`) : undefined;
}

/** The budget of a tenant's recipient; undefined if it is not known. No id that a row names can be taken for it. */
export function recipientKey({ tenant_id, recipient_hash }: NotificationRow): string | undefined {
  return recipient_hash ? shortName(`recipient ${JSON.stringify([tenant_id, recipient_hash])}`) : undefined;
}

function shortName(id: string): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, 11);
}
