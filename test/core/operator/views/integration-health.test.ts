import { expect, it } from 'vitest';
import { healthSince, integrationHealth } from '../../../../src/core/operator/views/integration-health.ts';
import { dueRow } from '../../../support/rows.ts';

const NOW = new Date('2026-03-01T10:40:00.000Z');
const created = (hour: string) => ({ tenant_created_at: `tenant-1#2026-03-01T${hour}:05:00.000Z` });
const delivered = { send_status: 'SUCCESS', error_type: 'NETWORK_TIMEOUT' } as const;
const failed = { error_type: 'AUTH_FAILED', error_message: 'Slack refused mori@example.com' } as const;
const dead = { ...failed, failure_reason: 'AUTH_FAILED', work_queue: 'dead#normal#0' } as const;
const row = (changes: object, more: object) => ({ ...dueRow({ channel: 'slack', ...changes }), ...more });
const IC1 = { integration_config_id: 'IC1' };

it('says which integration fails, since when and why: what was delivered at last counts as delivered', () => {
  const [worst, other, ...rest] = integrationHealth(
    [
      row(delivered, { ...IC1, ...created('09') }),
      row(dead, { ...IC1, ...created('10'), updated_at: '2026-03-01T10:06:00.000Z' }),
      row({}, { ...IC1, ...failed, ...created('10'), error_message: 'old', updated_at: '2026-03-01T10:05:00.000Z' }),
      row(delivered, { ...created('10') }),
    ],
    NOW,
  );
  expect(rest).toEqual([]);
  expect(worst).toMatchObject({
    channel: 'slack',
    integration: 'IC1',
    notifications: 3,
    delivered: 1,
    failing: 2,
    dead: 1,
  });
  expect([worst?.last_error, worst?.last_failed_at]).toEqual(['Slack refused …', '2026-03-01T10:06:00.000Z']);
  expect(worst?.hours.slice(-2)).toEqual([
    { delivered: 1, failing: 0 },
    { delivered: 0, failing: 2 },
  ]);
  expect([worst?.hours.length, healthSince(NOW).toISOString()]).toEqual([24, '2026-02-28T11:00:00.000Z']);
  expect(other).toMatchObject({ integration: null, delivered: 1, failing: 0, last_error: null });
});

it('judges nothing that was not tried, and blames no integration for what a person cancelled', () => {
  const cancelled = { failure_reason: 'CANCELLED', work_queue: undefined, work_at: undefined };
  expect(integrationHealth([row({}, created('10')), row({}, { ...cancelled, ...created('10') })], NOW)).toMatchObject([
    { notifications: 2, delivered: 0, failing: 0, dead: 0, last_error: null },
  ]);
});

it('takes the channel of a row whose writer delivered it from its notification_type', () => {
  const foreign = {
    log_id: 'f',
    tenant_id: 't',
    notification_type: 'WEBHOOK',
    send_status: 'SUCCESS',
    ...created('10'),
  };
  expect(integrationHealth([foreign], NOW)).toMatchObject([{ channel: 'webhook', delivered: 1 }]);
});

it('has the worst first: where all fail before where some do, unless those are many', () => {
  const some = (id: string, good: number, bad: number) => [
    ...Array.from({ length: good }, () => row(delivered, { integration_config_id: id, ...created('10') })),
    ...Array.from({ length: bad }, () => row(dead, { integration_config_id: id, ...created('10') })),
  ];
  const health = integrationHealth(
    [...some('few', 51, 9), ...some('none', 9, 0), ...some('all', 0, 3), ...some('many', 90, 30)],
    NOW,
  );
  expect(health.map(({ integration }) => integration)).toEqual(['many', 'all', 'few', 'none']);
});
