import { describe, expect, it } from 'vitest';
import { providerKey } from '../../../src/core/breaker/shared-breakers.ts';
import { providerHost } from '../../../src/core/model/channels.ts';
import { dueRow } from '../../support/rows.ts';

describe('the provider of a notification', () => {
  it.each([
    ['https://hooks.example.com/secret/path?token=1', 'hooks.example.com'],
    ['https://user:password@hooks.example.com:8443/x', 'hooks.example.com:8443'],
    [`https://${'a'.repeat(60)}.example.com/x`, 'a'.repeat(40)],
    // Of the local runtime alone, whose simulated receivers share a host (docs/reference/local-runtime.md).
    ['http://hooks.example.com/x', undefined],
    ['yamada@example.com', undefined],
    ['#alerts', undefined],
    ['https://', undefined],
  ])('%s is known by nothing but its host', (recipient, host) => expect(providerHost(recipient)).toBe(host));

  it.each([
    [{ channel: 'slack', integration_config_id: 'IC1', provider_host: 'h' } as const, 'slack#IC1'],
    [{ channel: 'webhook', provider_host: 'h' } as const, 'webhook#tenant-1@h'],
    [{ channel: 'teams', integration_config_id: '', provider_host: 'h' } as const, 'teams#tenant-1@h'],
    [{ channel: 'email', integration_config_id: 'IC1' } as const, 'email#ses'],
    [{ channel: 'webhook', tenant_id: 'T#1 東', provider_host: 'h:8443' } as const, 'webhook#T%231%20東@h:8443'],
    [{ channel: 'webhook', integration_config_id: 'a@h' } as const, 'webhook#a%40h'],
    [{ channel: 'webhook' } as const, undefined],
  ])('of %j is %s', (changes, key) => expect(providerKey(dueRow(changes))).toBe(key));

  it.each([
    ['the integration of each tenant, where it only signs', 'recipient', 'webhook#tenant-1@#IC1'],
    ['the integration, where that says where to post', 'integration', 'webhook#IC1'],
  ] as const)('is %s', (_, by, key) =>
    expect(providerKey(dueRow({ channel: 'webhook', integration_config_id: 'IC1', recipient_hash: 'hash' }), by)).toBe(
      key,
    ),
  );
});
