import { expect, it } from 'vitest';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import type { Newsletter } from '../../src/core/newsletter/model/email.ts';
import type { NewsletterStore } from '../../src/core/newsletter/model/ports.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const AT = '2026-11-22T00:00:00.000Z';
const LATER = '2026-11-23T00:00:00.000Z';
let serial = 0;

function suite(store: () => NewsletterStore): void {
  const fresh = (changes: Partial<Newsletter> = {}): Newsletter => ({
    tenant_id: `tenant-${++serial}`,
    newsletter_id: 'weekly',
    name: 'Weekly',
    from: 'Weekly <news@example.com>',
    created_at: AT,
    updated_at: AT,
    ...changes,
  });

  it('keeps a newsletter as it was put, and the time when it was first put', async () => {
    const first = fresh({
      reply_to: 'r@example.com',
      sending_domain: 'a.example.com',
      fallback_domain: 'b.example.com',
    });
    expect(await store().put(first)).toEqual(first);
    expect(await store().read(first.tenant_id, 'weekly')).toEqual(first);
    const { reply_to: _, sending_domain: __, fallback_domain: ___, ...rest } = first;
    const second = { ...rest, name: 'Every week', created_at: LATER, updated_at: LATER };
    expect(await store().put(second)).toEqual({ ...second, created_at: AT });
    expect(await store().read(first.tenant_id, 'weekly')).toEqual({ ...second, created_at: AT });
  });

  it('replaces the newsletter that somebody looked at, and makes one only where there is none', async () => {
    const first = fresh();
    const { tenant_id } = first;
    expect(await store().put(first, AT)).toBeUndefined();
    expect(await store().put(first, null)).toEqual(first);
    const put = (name: string) => store().put({ ...first, name, updated_at: LATER }, AT);
    const answers = await Promise.all(['A', 'B'].map(put));
    expect(answers.filter((one) => one === undefined)).toHaveLength(1);
    expect(await store().read(tenant_id, 'weekly')).toEqual(answers.find((one) => one !== undefined));
    expect(await store().put({ ...first, name: 'C' }, null)).toBeUndefined();
  });

  it('answers a change that is asked for once more as the first time, but none that is another', async () => {
    const first = fresh({ reply_to: 'r@example.com' });
    await store().put(first, null);
    const second = { ...first, track: { opens: false, clicks: true }, updated_at: LATER };
    const again = '2026-11-24T00:00:00.000Z';
    for (const updated_at of [LATER, again]) {
      expect(await store().put({ ...second, created_at: updated_at, updated_at }, AT)).toEqual(second);
    }
    const { reply_to: _, ...other } = { ...second, updated_at: again };
    expect(await store().put(other, AT)).toBeUndefined();
    expect(await store().read(first.tenant_id, 'weekly')).toEqual(second);
  });

  it('lists the newsletters of a tenant by id', async () => {
    const { tenant_id } = fresh();
    for (const newsletter_id of ['b', 'a', 'constructor']) await store().put(fresh({ tenant_id, newsletter_id }));
    await store().put(fresh());
    const ids = (await store().list(tenant_id)).map(({ newsletter_id }) => newsletter_id);
    expect(ids).toEqual(['a', 'b', 'constructor']);
    expect(await store().list('nobody')).toEqual([]);
    expect(await store().read(tenant_id, 'c')).toBeUndefined();
  });

  it('keeps the senders of a tenant, which are no newsletter', async () => {
    const { tenant_id } = (await store().put(fresh())) ?? fresh();
    expect(await store().senders(tenant_id)).toEqual([]);
    await store().changeSenders(tenant_id, 'allow', 'news@example.com');
    await Promise.all(
      ['*@b.example', 'news@example.com'].map((sender) => store().changeSenders(tenant_id, 'allow', sender)),
    );
    expect(await store().senders(tenant_id)).toEqual(['*@b.example', 'news@example.com']);
    expect(await store().senders(fresh().tenant_id)).toEqual([]);
    expect(await store().list(tenant_id)).toHaveLength(1);
    // Not either for a tenant that is called as their key is.
    expect(await store().list(`senders#${tenant_id}`)).toEqual([]);
    expect(await store().changeSenders(tenant_id, 'revoke', '*@b.example')).toEqual(['news@example.com']);
    expect(await store().changeSenders(tenant_id, 'revoke', 'unknown@b.example')).toEqual(['news@example.com']);
    expect(await store().changeSenders(tenant_id, 'revoke', 'news@example.com')).toEqual([]);
    expect(await store().senders(tenant_id)).toEqual([]);
  });

  it('knows whose senders a domain has, however many tenants share one', async () => {
    const [one, two] = [fresh().tenant_id, `${fresh().tenant_id} with spaces`];
    const domain = `${one.toLowerCase()}.example`;
    expect(await store().sendersAt(domain)).toEqual([]);
    for (const tenant of [one, two]) await store().changeSenders(tenant, 'allow', `*@${domain}`);
    await store().changeSenders(one, 'allow', `news@${domain}`);
    expect([...(await store().sendersAt(domain))].sort()).toEqual([`*@${domain}`, `news@${domain}`]);
    await store().changeSenders(one, 'revoke', `*@${domain}`);
    expect([...(await store().sendersAt(domain))].sort()).toEqual([`*@${domain}`, `news@${domain}`]);
    await store().changeSenders(two, 'revoke', `*@${domain}`);
    expect(await store().sendersAt(domain)).toEqual([`news@${domain}`]);
    // A tenant that is called as the domain has no senders by that, and lists no newsletter.
    expect(await store().senders(domain)).toEqual([]);
    expect(await store().list(`senders#${domain}`)).toEqual([]);
  });
}

describeOnDynamoDb('newsletters', ({ client, tables }) => createNewsletterStore(client, tables.newsletters), suite);
