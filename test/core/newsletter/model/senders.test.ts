import { expect, it } from 'vitest';
import { foreignSenders } from '../../../../src/core/newsletter/model/senders.ts';

const ANN = { tenant_id: 'ann', from: 'News <news@a.example>' };
const ENTRIES: Readonly<Record<string, readonly string[]>> = { ann: ['*@a.example'], bob: [] };
const store = (own_senders_only: boolean) => ({
  own_senders_only,
  senders: async (tenant_id: string) => ENTRIES[tenant_id] ?? [],
  sendersAt: async (domain: string) => (domain === 'a.example' ? ['*@a.example'] : []),
});

it.each([
  ['its own', ANN, [], []],
  ["another's", { ...ANN, tenant_id: 'bob' }, ['from'], ['from']],
  ["nobody's", { ...ANN, tenant_id: 'bob', from: 'news@free.example' }, [], ['from']],
  ['an unreadable one', { ...ANN, tenant_id: 'bob', from: 'news' }, [], ['from']],
  [
    "nobody's domains beside it",
    { tenant_id: 'bob', from: 'a@x.example', sending_domain: 'y.example', fallback_domain: 'z.example' },
    [],
    ['from', 'sending_domain', 'fallback_domain'],
  ],
])(
  'a tenant is sent as %s, or not, in a stage that is open, and in one with senders of tenants only',
  async (_, newsletter, open, closed) => {
    expect(await foreignSenders(newsletter, store(false))).toEqual(open);
    expect(await foreignSenders(newsletter, store(true))).toEqual(closed);
  },
);
