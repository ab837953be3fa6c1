import type { NotificationRow } from './notification.ts';

/** Longest host that a row keeps: shorter than the integration_config_id in whose place it stands. */
const HOST_LENGTH = 40;

/**
 * The host that a notification without integration is posted to, for the row to remember: content is not read before it
 * is known whether its provider is up. Undefined when the recipient is no https URL; never a path, which may be a secret.
 */
export function providerHost(recipient: string): string | undefined {
  const url = URL.canParse(recipient) ? new URL(recipient) : undefined;
  return url?.protocol === 'https:' ? url.host.slice(0, HOST_LENGTH) : undefined;
}

/** Longest tenant in a key; the table allows an id of 50 characters. */
const TENANT_LENGTH = 50;

/**
 * What fails together, as `<channel>#<integration>`, or `<channel>#<tenant>@<host>` without integration: 99 characters
 * at most. A host may be shared by tenants whose receivers there have nothing to do with each other, so that one whose
 * own is broken holds nobody else's; an integration is one tenant's anyhow. All e-mail goes through one SES account,
 * whatever the integration. Undefined when it cannot be told; such a notification is never held.
 */
export function providerKey(
  row: Pick<NotificationRow, 'channel' | 'integration_config_id' | 'provider_host' | 'tenant_id'>,
): string | undefined {
  const provider = row.channel === 'email' ? 'ses' : row.integration_config_id || receiverOf(row);
  return provider ? `${row.channel}#${provider}` : undefined;
}

function receiverOf({ tenant_id, provider_host }: Pick<NotificationRow, 'tenant_id' | 'provider_host'>) {
  return provider_host && `${tenant_id.replace(/[^\w.-]/g, '_').slice(0, TENANT_LENGTH)}@${provider_host}`;
}
