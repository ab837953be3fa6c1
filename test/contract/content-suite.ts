import { expect, it } from 'vitest';
import type { NotificationContent } from '../../src/core/model/notification.ts';
import { CONTENT } from '../support/rows.ts';
import { recordOf } from './claim-suite.ts';
import { fresh, type StoreUnderTest } from './store-under-test.ts';

const ownerOf = () => {
  const { log_id, tenant_id } = fresh();
  return { log_id, tenant_id };
};

/** What every ContentStore must do with content from an IndexStore. `store` is called when a test runs. */
export function contentSuite(store: () => StoreUnderTest): void {
  it('stores content for its owner and returns it to nobody else', async () => {
    const { log_id, tenant_id } = fresh();
    const stored = await store().indexStore.putContent(
      { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '7' },
      CONTENT,
    );
    expect(stored?.recipient_hash).toMatch(/./);
    expect(stored?.life).toBeUndefined();
    expect(await store().contents.read({ log_id, tenant_id })).toEqual(CONTENT);
    expect(await store().indexStore.hasContent(log_id)).toBe(true);
    await expect(store().contents.read({ log_id, tenant_id: 'other' })).rejects.toMatchObject({
      name: 'ContentUnreadableError',
    });
    await expect(store().contents.read({ log_id: 'none', tenant_id })).rejects.toMatchObject({
      name: 'ContentUnreadableError',
    });
  });

  it.each([
    ['a long body in Japanese', '通知の本文です。😀\n'.repeat(10_000)],
    ['the longest body that is kept as text', 'x'.repeat(2_048)],
    ['the shortest body that is compressed', 'x'.repeat(2_049)],
  ])('returns %s unchanged', async (_, body) => {
    const owner = { ...ownerOf(), expires_at: 4_000_000_000, sequence: '1' };
    await store().indexStore.putContent(owner, { ...CONTENT, body });
    expect((await store().contents.read(owner)).body).toBe(body);
  });

  it('replaces a part of the content, and keeps the rest, and the encrypted recipient', async () => {
    const owner = { ...ownerOf(), expires_at: 4_000_000_000, attempts_before: 0 };
    const put = (sequence: string, content: Partial<NotificationContent>, amends?: true) =>
      store().indexStore.putContent({ ...owner, sequence, ...(amends && { amends }) }, content);
    await put('1', { ...CONTENT, body: 'x'.repeat(3_000) });
    expect(await put('2', { subject: 'corrected' }, true)).toEqual({ life: 1 });
    expect(await store().contents.read(owner)).toEqual({ ...CONTENT, body: 'x'.repeat(3_000), subject: 'corrected' });
    expect(await put('3', { recipient: 'other', body: 'short' }, true)).toEqual({
      recipient_hash: expect.any(String),
      life: 2,
      of_another: true,
    });
    const corrected = { ...CONTENT, recipient: 'other', body: 'short', subject: 'corrected' };
    expect(await store().contents.read(owner)).toEqual(corrected);
    await put('2', { subject: 'an older image' }, true);
    expect(await store().contents.read(owner)).toEqual(corrected);
    await put('4', { body: 'long '.repeat(1_000) }, true);
    expect(await store().contents.read(owner)).toEqual({ ...corrected, body: 'long '.repeat(1_000) });
  });

  it.each([
    ['amends what is stored', { recipient: 'https://other.example.com' }, true],
    ['brings the whole of it', { ...CONTENT, recipient: 'https://other.example.com' }, undefined],
  ] as const)(
    'masks addresses in the records of before with an image that names another recipient, and %s',
    async (_, content, amends) => {
      const row = fresh();
      const owner = { ...row, expires_at: 4_000_000_000 };
      await store().put({ ...row, recipient_address: 'x' });
      await store().indexStore.putContent({ ...owner, sequence: '1' }, CONTENT);
      const said = `404 no ${CONTENT.recipient} here`;
      await store().records.putIfAbsent({ ...recordOf(row, 0), response_message: said });
      const told = async () => (await store().records.find(row.log_id, 0))?.response_message;
      const put = (sequence: string, given: Partial<NotificationContent>) =>
        store().indexStore.putContent({ ...owner, sequence, ...(amends && { amends }) }, given);
      const same = await put('2', { ...content, recipient: CONTENT.recipient });
      expect({ same, told: await told() }).toEqual({
        same: expect.not.objectContaining({ of_another: true }),
        told: said,
      });
      expect(await put('3', content)).toMatchObject({ of_another: true });
      expect(await told()).toBe('404 no … here');
    },
  );

  it('keeps both of two parts that are stored at once', async () => {
    const owner = { ...ownerOf(), expires_at: 4_000_000_000 };
    await store().indexStore.putContent({ ...owner, sequence: '1' }, CONTENT);
    const put = (content: Partial<NotificationContent>) =>
      store().indexStore.putContent({ ...owner, sequence: '2', amends: true }, content);
    await Promise.all([put({ subject: 'one' }), put({ body: 'other' })]);
    expect(await store().contents.read(owner)).toMatchObject({ subject: 'one', body: 'other' });
  });

  it('amends no content of another tenant, and none that is not there', async () => {
    const owner = { ...ownerOf(), expires_at: 4_000_000_000, sequence: '1', amends: true } as const;
    const amend = (changes = {}) => store().indexStore.putContent({ ...owner, ...changes }, { body: 'b' });
    await expect(amend()).rejects.toThrow('content that it lacks');
    await store().indexStore.putContent(
      { ...ownerOf(), log_id: owner.log_id, expires_at: 4_000_000_000, sequence: '1' },
      CONTENT,
    );
    await expect(amend({ tenant_id: 'tenant-9' })).rejects.toThrow('content that it lacks');
    expect(await store().contents.read(owner)).toEqual(CONTENT);
  });

  it('keeps the content of the latest image, in whatever order images arrive', async () => {
    const owner = { ...ownerOf(), expires_at: 4_000_000_000 };
    const put = (sequence: string, body: string) =>
      store().indexStore.putContent({ ...owner, sequence }, { ...CONTENT, body });
    await put('111000000000000000000002', 'second');
    await put('111000000000000000000001', 'first');
    expect((await store().contents.read(owner)).body).toBe('second');
    await put('211000000000000000000000', 'third');
    expect((await store().contents.read(owner)).body).toBe('third');
  });
}
