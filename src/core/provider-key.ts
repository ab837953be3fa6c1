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

/**
 * What fails together, as `<channel>#<integration or host>`: 62 characters at most. All e-mail goes through one SES
 * account, whatever the integration. Undefined when it cannot be told; such a notification is never held.
 */
export function providerKey(
  row: Pick<NotificationRow, 'channel' | 'integration_config_id' | 'provider_host'>,
): string | undefined {
  const provider = row.channel === 'email' ? 'ses' : row.integration_config_id || row.provider_host;
  return provider ? `${row.channel}#${provider}` : undefined;
}
