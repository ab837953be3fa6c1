import { expect, it } from 'vitest';
import type { NotificationContent } from '../../src/core/model/notification.ts';
import { CONTENT } from '../support/rows.ts';
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
    });
    const corrected = { ...CONTENT, recipient: 'other', body: 'short', subject: 'corrected' };
    expect(await store().contents.read(owner)).toEqual(corrected);
    await put('2', { subject: 'an older image' }, true);
    expect(await store().contents.read(owner)).toEqual(corrected);
    await put('4', { body: 'long '.repeat(1_000) }, true);
    expect(await store().contents.read(owner)).toEqual({ ...corrected, body: 'long '.repeat(1_000) });
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
