import { expect, it } from 'vitest';
import { CONTENT } from '../support/rows.ts';
import { fresh, type StoreUnderTest } from './store-under-test.ts';

/** What every ContentStore must do with content from an IndexStore. `store` is called when a test runs. */
export function contentSuite(store: () => StoreUnderTest): void {
  it('stores content for its owner and returns it to nobody else', async () => {
    const { log_id, tenant_id } = fresh();
    const hash = await store().indexStore.putContent(
      { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '7' },
      CONTENT,
    );
    expect(hash).not.toBe('');
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
    const owner = { ...fresh(), expires_at: 4_000_000_000, sequence: '1' };
    await store().indexStore.putContent(owner, { ...CONTENT, body });
    expect((await store().contents.read(owner)).body).toBe(body);
  });

  it('keeps the content of the latest image, in whatever order images arrive', async () => {
    const owner = { ...fresh(), expires_at: 4_000_000_000 };
    const put = (sequence: string, body: string) =>
      store().indexStore.putContent({ ...owner, sequence }, { ...CONTENT, body });
    await put('111000000000000000000002', 'second');
    await put('111000000000000000000001', 'first');
    expect((await store().contents.read(owner)).body).toBe('second');
    await put('211000000000000000000000', 'third');
    expect((await store().contents.read(owner)).body).toBe('third');
  });
}
