import { expect, it } from 'vitest';
import { failOver, successorId } from '../../src/core/delivery/failover.ts';
import { failedBecause } from '../../src/core/delivery/verdict.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { at, CONTENT, iso, messageFor, T0 } from '../support/rows.ts';
import { fresh, putFresh, type StoreUnderTest, UNTIL } from './store-under-test.ts';

/** What every SuccessorStore must do. `store` is called when a test runs. */
export function failoverSuite(store: () => StoreUnderTest): void {
  it('continues a notification on its fallback channel: one content and one row, linked, due now', async () => {
    const row = await putFresh(store(), { fallback_channel: 'email', last_attempt: 3 });
    const { log_id, tenant_id } = row;
    const owner = { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '1' };
    const fallback = { recipient: 'yamada@example.com', integration_config_id: 'IC9' };
    await store().indexStore.putContent(owner, { ...CONTENT, body: '本文'.repeat(2_000), fallback });
    const deps = { rows: store().rows, successors: store().successors, policy: DEFAULT_RETRY_POLICY, clock: () => T0 };
    const verdict = failedBecause('MAX_RETRIES', 'SERVER_OVERLOAD');
    const first = await failOver(row, verdict, 'sweep-1', deps);
    const again = await failOver(row, verdict, 'sweep-2', { ...deps, clock: () => at(60_000) });
    expect(again).toEqual({ ...first, message: { ...first.message, run_id: 'sweep-2' } });
    expect(first).toMatchObject({
      verdict: { successor_log_id: successorId(log_id), dead_letter: false },
      message: { log_id: successorId(log_id), channel: 'email', due: iso() },
    });
    const successor = await store().rows.read(successorId(log_id));
    expect(successor).toMatchObject({ predecessor_log_id: log_id, integration_config_id: 'IC9', attempts_left: 6 });
    expect(await store().contents.read({ log_id: successorId(log_id), tenant_id })).toEqual({
      ...CONTENT,
      body: '本文'.repeat(2_000),
      recipient: 'yamada@example.com',
    });
    const { claimed } = await store().rows.claim(messageFor(fresh(), first.message ?? {}), UNTIL, 'claim-1');
    expect(claimed).toBe(true);
  });

  it('gives up as usual without a stored fallback recipient, or when the successor’s log_id is taken', async () => {
    const row = await putFresh(store(), { fallback_channel: 'email' });
    const { log_id, tenant_id } = row;
    const deps = { rows: store().rows, successors: store().successors, policy: DEFAULT_RETRY_POLICY, clock: () => T0 };
    const verdict = failedBecause('EXPIRED', 'NETWORK_TIMEOUT');
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
    const owner = { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '1' };
    await store().indexStore.putContent(owner, { ...CONTENT, fallback: { recipient: 'yamada@example.com' } });
    await store().put({ log_id: successorId(log_id), tenant_id, send_status: 'SUCCESS' });
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
  });
}
