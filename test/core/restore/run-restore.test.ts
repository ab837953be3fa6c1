import { expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { newRestore } from '../../../src/core/restore/restore-state.ts';
import { restore } from '../../../src/core/restore/run-restore.ts';
import { memoryRestore } from '../../../tools/simulation/twins/restore-store.ts';
import { retryRecord } from '../../support/delivering.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

const HOUR = 3_600_000;
const RUN = {
  ...{ restored_to: iso(), clocks_apart_ms: 5_000, policy, shards: { work: 8, history: 4 }, random: () => 0.5 },
  ...{ acts: [], forgotten: new Map(), unnamed: [], dry_run: false, clock: () => at(HOUR), pause: async () => {} },
  ...{ rate: Number.POSITIVE_INFINITY, isStopping: () => false },
};

it('takes records as lost where they are given, though the deployed table has all of those by now', async () => {
  const record = retryRecord({ retry_attempt: 0, retry_log_id: 'log-1#0' });
  const retryLog = new Map([[record.retry_log_id, record]]);
  const content = new Map([['log-1', { recipient: 'r', body: 'b', format: 'PLAIN', tenant_id: 'tenant-1' } as const]]);
  const log = new Map([['log-1', { ...dueRow({ updated_by: 'notification-retry' }) }]]);
  const state = newRestore();
  await restore(state, {
    ...RUN,
    ports: memoryRestore({ log: new Map(), content: new Map(content), retryLog }, { log, retryLog }),
  });
  expect(state).toMatchObject({ records_lost: true, records: { there: 1, copied: 0 } });
  expect(state.asked).toMatchObject([{ why: 'outcome_unknown', log_id: 'log-1', is_kept: true }]);
});

it('brings back no word about a recipient who was corrected since', async () => {
  const said = (name: string) => ({ response_message: `550 no ${name}`, error_details: `{"said":"${name}"}` });
  const records = [
    retryRecord({ retry_attempt: 0, retry_log_id: 'log-1#0', ...said('ann@example.com') }),
    retryRecord({ retry_attempt: 3, retry_log_id: 'log-1#3', ...said('bob@example.com') }),
  ];
  const content = { recipient: 'r', body: 'b', format: 'PLAIN', tenant_id: 'tenant-1', life: 3 } as const;
  const retryLog = new Map();
  const log = new Map([['log-1', { ...dueRow({ life: 3 }) }]]);
  const copies = { retryLog: new Map(records.map((record) => [record.retry_log_id, record])) };
  await restore(newRestore(), {
    ...RUN,
    ports: memoryRestore({ log, content: new Map([['log-1', content]]), retryLog }, copies),
  });
  expect(JSON.stringify(retryLog.get('log-1#0'))).not.toContain('ann@');
  expect(retryLog.get('log-1#3')).toMatchObject(said('bob@example.com'));
});
