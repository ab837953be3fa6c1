import { successorId } from '../../../core/delivery/failover.ts';
import type { NotificationContent } from '../../../core/model/notification.ts';
import { providerHost } from '../../../core/model/provider-key.ts';
import { recipientHash } from '../../recipient/recipient-hash.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { type Item, toItem } from '../table/item.ts';
import { sealRecipient } from './content-store.ts';

/**
 * The attributes of a content that its successor needs and that only the plain recipient gives. The recipient is
 * encrypted for the successor now, so the function that fails over never sees it and needs no right to encrypt.
 */
export async function fallbackAttributes(
  { log_id, tenant_id }: { readonly log_id: string; readonly tenant_id: string },
  { recipient, integration_config_id }: NonNullable<NotificationContent['fallback']>,
  sealer: Sealer,
  hashKey: () => Promise<string>,
): Promise<Item> {
  return toItem({
    encrypted_fallback_recipient: await sealRecipient(sealer, { log_id: successorId(log_id), tenant_id }, recipient),
    fallback_recipient_hash: recipientHash(await hashKey(), tenant_id, recipient),
    fallback_integration_config_id: integration_config_id,
    fallback_provider_host: integration_config_id ? undefined : providerHost(recipient),
  });
}
