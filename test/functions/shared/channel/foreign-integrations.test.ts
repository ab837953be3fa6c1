import { expect, it } from 'vitest';
import { createIntegrationCredentials } from '../../../../src/adapters/secrets/integration-credentials.ts';
import { slackReceiver } from '../../../../src/adapters/slack/sender.ts';
import { teamsReceiver } from '../../../../src/adapters/teams/sender.ts';
import { webhookTargets } from '../../../../src/adapters/webhook/sender.ts';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import { ACCOUNT } from '../../../../src/core/pacing/admission.ts';
import { VirtualTime } from '../../../../tools/simulation/engine/virtual-time.ts';
import { MemoryPacing } from '../../../../tools/simulation/twins/pipeline-state.ts';
import { accountGate, pacerAt, receiversAt, type WorkerGate } from '../../../support/pacing.ts';
import { dueRow, messageFor, received } from '../../../support/rows.ts';

const SECRETS: Readonly<Record<string, object>> = {
  slack: { tenant_id: 'A', webhook_url: 'https://hooks.slack.com/services/a' },
  teams: { tenant_id: 'A', webhook_url: 'https://example.com/a' },
  webhook: { tenant_id: 'A', rate_per_second: 4 },
  email: { tenant_id: 'A' },
};
const URGENT = { priority: 'urgent' } as const;

it.each(CHANNELS)(
  '300 rows of tenant B that name an integration of A keep no urgent %s of A waiting',
  async (channel) => {
    const time = new VirtualTime(new Date('2026-03-01T10:30:00.000Z'));
    const memory = new MemoryPacing();
    const credentials = createIntegrationCredentials(
      { get: async (name) => JSON.stringify(SECRETS[name]) },
      { prefix: '' },
      () => time.clock().getTime(),
    );
    const receiver = {
      email: ACCOUNT,
      slack: slackReceiver(credentials),
      teams: teamsReceiver,
      webhook: webhookTargets(credentials).receiver,
    }[channel] as typeof ACCOUNT;
    const limits = { per_second: 14, sent_24h: 0, sending: true, enforcement: 'HEALTHY', production: true };
    const instance = (): WorkerGate => {
      const pacer = pacerAt(time.clock, {
        store: memory.store,
        channel,
        ...(channel === 'email' && { readLimits: async () => limits }),
      });
      const more = {
        channel,
        receiver,
        mayUse: credentials.mayUse,
      };
      return accountGate(pacer, time, undefined, more, receiversAt(time.clock, { store: memory.store, channel }));
    };
    const rowOf = (log_id: string, tenant_id: string) =>
      dueRow({ log_id, tenant_id, channel, integration_config_id: channel, recipient_hash: 'hash', ...URGENT });

    const refuseTheirs = async (name: string) => {
      const gate = instance();
      for (let batch = 0; batch < 6; batch++) {
        const rows = Array.from({ length: 10 }, (_, i) => rowOf(`${name}-${batch}-${i}`, 'B'));
        const { now } = await gate.screen(rows.map((row) => received(messageFor(row))));
        await Promise.all(
          now.map(async ({ message }) => {
            const admission = await gate.admit(rowOf(message.log_id, 'B'), false);
            if (admission.do === 'send')
              await admission.report({ ok: false, error_type: 'PERMISSION_DENIED', message: 'no' });
          }),
        );
        await time.pause(300);
      }
    };
    const sendOurs = async () => {
      await time.pause(1_500);
      const began = time.clock().getTime();
      const gate = instance();
      const a = rowOf('a', 'A');
      expect((await gate.screen([received(messageFor(a))])).now).toHaveLength(1);
      expect(await gate.admit(a, false)).toMatchObject({ do: 'send' });
      return time.clock().getTime() - began;
    };
    const theirs = ['b-1', 'b-2', 'b-3', 'b-4', 'b-5'].map(refuseTheirs);
    const [waited] = await time.run(Promise.all([sendOurs(), ...theirs]));
    expect(waited).toBeLessThan(1_000);
  },
);
