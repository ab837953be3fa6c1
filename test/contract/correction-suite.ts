import { expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY as policy } from '../../src/core/model/retry-policy.ts';
import { planCorrection } from '../../src/core/operator/correct.ts';
import { CONTENT, messageFor, T0 } from '../support/rows.ts';
import { recordOf } from './claim-suite.ts';
import { putFresh, type StoreUnderTest, UNTIL } from './store-under-test.ts';

/** What every CorrectionStore must do. `store` is called when a test runs. */
export function correctionSuite(store: () => StoreUnderTest): void {
  const GIVEN = { recipient: 'https://new.example.com/hook' };

  async function begun(sequence = '7') {
    const row = await putFresh(store(), { last_attempt: 2, recipient_hash: 'before' });
    const owner = { log_id: row.log_id, tenant_id: row.tenant_id, expires_at: 4_000_000_000, sequence };
    await store().indexStore.putContent(owner, CONTENT);
    return { row, owner, ...planCorrection(row, GIVEN, { now: T0, policy }) };
  }
  const rowAndContent = async (log_id: string) => {
    const row = await store().rows.read(log_id);
    return { row, content: row && (await store().contents.read(row)) };
  };

  it('corrects row and content together, and keeps what is not given', async () => {
    const { row, change, due } = await begun();
    expect(await store().corrections.correct(row, change, GIVEN)).toBe(true);
    const found = await rowAndContent(row.log_id);
    expect(found.content).toEqual({ ...CONTENT, ...GIVEN });
    expect(found.row).toMatchObject({ life: 4, last_attempt: 3, send_status: 'RETRY', work_at: due });
    expect(found.row?.recipient_hash).not.toBe('before');
    const message = messageFor(row, { due });
    expect(await store().rows.claim(message, UNTIL, 'claim')).toMatchObject({
      claimed: true,
      row: { last_attempt: 4 },
    });
  });

  it('masks addresses in the records of attempts of before where another recipient is named', async () => {
    const { row, change } = await begun();
    const said = '404 no https://hooks.example.com/x here';
    await store().records.putIfAbsent({
      ...recordOf(row, row.last_attempt),
      response_message: said,
    });
    const found = () => store().records.find(row.log_id, row.last_attempt);
    await store().corrections.correct({ ...row, last_attempt: 9 }, change, { subject: 'x' });
    expect(await found()).toMatchObject({ response_message: said });
    expect(await store().corrections.correct(row, change, GIVEN)).toBe(true);
    expect(await found()).toMatchObject({ response_message: '404 no … here' });
  });

  it('keeps the correction when an image from before it is seen again, and not when its writer puts another one', async () => {
    const { row, owner, change } = await begun();
    await store().corrections.correct(row, change, GIVEN);
    expect(await store().indexStore.putContent(owner, CONTENT)).toBeUndefined();
    expect(await store().indexStore.putContent({ ...owner, sequence: '6', begins: 'kept' }, CONTENT)).toBeDefined();
    expect((await rowAndContent(row.log_id)).content).toEqual({ ...CONTENT, ...GIVEN });
    const later = { ...owner, sequence: '8', begins: 'kept' as const };
    await store().indexStore.putContent(later, { ...CONTENT, recipient: 'https://later.example.com' });
    expect((await rowAndContent(row.log_id)).content).toMatchObject({ recipient: 'https://later.example.com' });
    // What is seen twice then is its own.
    expect(await store().indexStore.putContent(later, CONTENT)).toBeDefined();
  });

  it.each([
    ['was claimed', { send_status: 'SENDING', last_attempt: 3 }],
    ['was deleted', { is_deleted: true }],
    ['has been shown to have arrived', { delivery_by_attempt: { 0: 'delivered' } }],
    ['was changed by its writer', { recipient_address: 'https://third.example.com' }],
  ] as const)('changes neither where the row %s since it was read', async (_, since) => {
    const { row, change } = await begun();
    await store().put({ ...row, ...since });
    expect(await store().corrections.correct(row, change, GIVEN)).toBe(false);
    expect(await store().get(row.log_id)).toEqual({ ...row, ...since });
    expect(await store().contents.read(row)).toEqual(CONTENT);
  });

  it('changes nothing where no content is stored, or that of another tenant', async () => {
    const { owner } = await begun();
    for (const tenant_id of ['others', owner.tenant_id]) {
      const row = await putFresh(store(), {});
      if (tenant_id === 'others') await store().indexStore.putContent({ ...owner, ...row, tenant_id }, CONTENT);
      const { change } = planCorrection(row, GIVEN, { now: T0, policy });
      expect(await store().corrections.correct(row, change, GIVEN)).toBe(false);
      expect(await store().get(row.log_id)).toEqual(row);
    }
  });
}
