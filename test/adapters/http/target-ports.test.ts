import { describe, expect, it } from 'vitest';
import { createSlackSender } from '../../../src/adapters/slack/sender.ts';
import { createTeamsSender } from '../../../src/adapters/teams/sender.ts';
import { createWebhookSender } from '../../../src/adapters/webhook/sender.ts';
import { delivery, NEVER } from '../../support/delivery.ts';
import { credentialsOf } from '../../support/memory-secrets.ts';

const url = 'https://hooks.example.com:8443/in';
const credentials = credentialsOf({
  slack: { webhook_url: url },
  teams: { webhook_url: url },
  webhook: { url },
  'slack-8443': { webhook_url: url, ports: [8443] },
  'teams-8443': { webhook_url: url, ports: [8443] },
  'webhook-8443': { url, ports: [8443] },
  'webhook-0': { url, ports: [0] },
});
/** An address that is refused as well, but after the port: nothing is sent. */
const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
const senders = { slack: createSlackSender, teams: createTeamsSender, webhook: createWebhookSender };

describe.each(['slack', 'teams', 'webhook'] as const)('the port of a %s target', (channel) => {
  const send = (integration_config_id: string | undefined, ports: readonly number[] = []) =>
    senders[channel]({ credentials, resolve, ports }).send(
      delivery(channel, { recipient: url }, integration_config_id === undefined ? {} : { integration_config_id }),
      NEVER,
    );
  const refusedFor = (message: string) => ({
    ok: false,
    error_type: 'INVALID_RECIPIENT',
    message: expect.stringContaining(message),
  });

  it('is 443 unless stage or integration allow another', async () => {
    expect(await send(channel)).toMatchObject(refusedFor('its port must be 443'));
    expect(await send(undefined)).toMatchObject(refusedFor('its port must be 443'));
    expect(await send(channel, [9443])).toMatchObject(refusedFor('its port must be 443 or 9443'));
  });

  it('may be one that the stage allows', async () => {
    expect(await send(undefined, [8443])).toMatchObject(refusedFor('its host name leads to a private'));
  });

  it('may be one that the integration allows', async () => {
    expect(await send(`${channel}-8443`)).toMatchObject(refusedFor('its host name leads to a private'));
  });
});

it('a port that does not exist makes the credential malformed', async () => {
  const sent = await createWebhookSender({ credentials }).send(
    delivery('webhook', { recipient: url }, { integration_config_id: 'webhook-0' }),
    NEVER,
  );
  expect(sent).toMatchObject({ error_type: 'AUTH_FAILED', message: expect.stringContaining('ports.0') });
});
