import type { NotificationRow } from './notification.ts';

/** Longest host that a row keeps, in characters: shorter than the integration_config_id that it stands in for. */
const HOST_LENGTH = 40;

/**
 * The host that a notification without integration is posted to. The row keeps it, because the content is only read
 * when the provider is known to be up. Undefined when the recipient is no https URL. Never a path, which may be a
 * secret.
 */
export function providerHost(recipient: string): string | undefined {
  const url = URL.canParse(recipient) ? new URL(recipient) : undefined;
  return url?.protocol === 'https:' ? url.host.slice(0, HOST_LENGTH) : undefined;
}

/** Longest tenant in a key; the table allows an id of 50 characters. */
const TENANT_LENGTH = 50;

/**
 * Names what fails together: `<channel>#<integration>`, or `<channel>#<tenant>@<host>` without integration, 99
 * characters at most. The tenant is part of it because tenants with unrelated receivers may share a host, and one
 * broken receiver must not hold the others'; an integration belongs to one tenant. All e-mail goes through one SES
 * account, whatever the integration. Undefined when the provider is unknown; such a notification is never held.
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
