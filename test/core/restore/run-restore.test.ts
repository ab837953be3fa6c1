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

it.each([
  ['sends', { life: 3 }],
  ['may send, if it comes back,', { send_status: 'SUCCESS', next_life: 3 }],
] as const)('brings back no content of a former recipient that a row %s by a later one', async (_, row) => {
  const former = { recipient: 'r', body: 'b', format: 'PLAIN', tenant_id: 'tenant-1', life: 2 } as const;
  const [content, log] = [new Map(), new Map([['log-1', { ...dueRow(row) }]])];
  const copies = { content: new Map([['log-1', former]]) };
  await restore(newRestore(), { ...RUN, ports: memoryRestore({ log, content, retryLog: new Map() }, copies) });
  expect(content.size).toBe(0);
});

/** RetryLog alone is lost, and gets back one record as it was before. @returns it */
async function refilled(row: Parameters<typeof dueRow>[0], was: Parameters<typeof retryRecord>[0]) {
  const record = retryRecord({ retry_attempt: 1, retry_log_id: 'log-1#1', ...was });
  const retryLog = new Map<string, typeof record>();
  const log = new Map([['log-1', { ...dueRow({ last_attempt: 1, ...row }) }]]);
  const copies = { retryLog: new Map([[record.retry_log_id, record]]) };
  await restore(newRestore(), { ...RUN, ports: memoryRestore({ log, content: new Map(), retryLog }, copies) });
  return retryLog.get('log-1#1');
}

it('has the records say what events have shown since, by the rows', async () => {
  const failed = { retry_status: 'FAILED', error_type: 'NETWORK_TIMEOUT', next_retry_at: iso() } as const;
  const arrived = await refilled({ delivery_by_attempt: { 1: 'delivered' } }, failed);
  expect(arrived).toMatchObject({ retry_status: 'SUCCESS', evidence: 'delivered' });
  expect(arrived).not.toHaveProperty('error_type');
  expect(arrived).not.toHaveProperty('next_retry_at');
  const back = { delivery_by_attempt: { 1: 'bounced' }, error_type: 'INVALID_RECIPIENT' } as const;
  expect(await refilled(back, { retry_status: 'SUCCESS' })).toMatchObject({
    ...{ retry_status: 'FAILED', evidence: 'bounced', error_type: 'INVALID_RECIPIENT' },
  });
  const known = { retry_status: 'SUCCESS', evidence: 'seen' } as const;
  expect(await refilled({ delivery_by_attempt: { 1: 'delivered' } }, known)).toMatchObject({ evidence: 'seen' });
});

it('brings back no word about a recipient whose row alone is left to say that they were forgotten', async () => {
  const said = { response_message: '550 no ann@example.com', error_details: '{"said":"ann@example.com"}' };
  expect(JSON.stringify(await refilled({ erased_at: iso() }, said))).not.toContain('ann@');
});
