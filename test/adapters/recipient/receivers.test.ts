import { describe, expect, it } from 'vitest';
import { slackReceiver } from '../../../src/adapters/slack/sender.ts';
import { teamsReceiver } from '../../../src/adapters/teams/sender.ts';
import { webhookTargets } from '../../../src/adapters/webhook/sender.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { credentialsOf } from '../../support/memory-secrets.ts';
import { dueRow } from '../../support/rows.ts';

/** What limits the posts of a row: Slack's channel, Teams' workflow, a webhook's endpoint. */
const credentials = credentialsOf({
  token: { tenant_id: 'tenant-1', token: 'xoxb-1' },
  hook: { tenant_id: 'tenant-1', webhook_url: 'https://hooks.slack.com/services/T/B/x' },
  slow: { tenant_id: 'tenant-1', rate_per_second: 2.5 },
  free: { tenant_id: 'tenant-1' },
  fixed: { tenant_id: '*', url: 'https://example.com/hook', rate_per_second: 2.5 },
  signing: { tenant_id: '*', rate_per_second: 2.5 },
});
const slack = slackReceiver(credentials);
const webhook = webhookTargets(credentials).receiver;
const row = (recipient_hash: string, integration_config_id?: string): NotificationRow =>
  dueRow({ recipient_hash, ...(integration_config_id !== undefined && { integration_config_id }) });

describe('the rate of a receiver', () => {
  it('of Slack is one post per second and channel, whatever the integration', async () => {
    const [first, other, same] = await Promise.all([
      slack(row('C1', 'token')),
      slack(row('C2', 'token')),
      slack(row('C1')),
    ]);
    expect([first?.per_second, other?.per_second]).toEqual([1, 1]);
    expect(first?.key).not.toBe(other?.key);
    expect(first).toEqual(same);
  });

  it('of an incoming webhook of Slack is one for all its posts', async () => {
    const [first, other] = await Promise.all([slack(row('C1', 'hook')), slack(row('C2', 'hook'))]);
    expect(first).toMatchObject({ per_second: 1 });
    expect(first).toEqual(other);
  });

  it('of Teams is four posts per second and workflow', async () => {
    const [first, same, other] = await Promise.all([
      teamsReceiver(row('r1', 'flow')),
      teamsReceiver(row('r2', 'flow')),
      teamsReceiver(row('r1')),
    ]);
    expect(first).toMatchObject({ per_second: 4 });
    expect(first).toEqual(same);
    expect(first?.key).not.toBe(other?.key);
  });

  it('of a webhook is that of its integration, and none where it sets none', async () => {
    expect(await webhook(row('r', 'slow'))).toMatchObject({ per_second: 2.5, key: expect.any(String) });
    expect(await webhook(row('r', 'free'))).toBeUndefined();
    expect(await webhook(row('r'))).toBeUndefined();
  });

  it('of an integration of all tenants is one for its own URL, and one for each recipient without', async () => {
    const keys = async (integration: string) => {
      const own = row('r1', integration);
      const [first, of_other] = await Promise.all([webhook(own), webhook({ ...own, tenant_id: 'tenant-2' })]);
      const [, elsewhere] = await Promise.all([webhook(own), webhook(row('r2', integration))]);
      return new Set([first?.key, of_other?.key, elsewhere?.key]).size;
    };
    expect([await keys('fixed'), await keys('signing')]).toEqual([1, 3]);
  });
});
