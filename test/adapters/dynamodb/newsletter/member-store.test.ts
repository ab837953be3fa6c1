import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memberItem, notNewer } from '../../../../src/adapters/dynamodb/newsletter/member-items.ts';
import { createMemberStore } from '../../../../src/adapters/dynamodb/newsletter/member-store.ts';
import { putGuarded } from '../../../../src/adapters/dynamodb/table/writes.ts';
import { createMemberSealing } from '../../../../src/adapters/recipient/member-sealing.ts';
import type { StoredMember } from '../../../../src/core/newsletter/model/member.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { storedMember } from '../../../support/newsletter/members.ts';
import { sealerOn } from '../../../support/sealer.ts';
import { createTables, type TableNames } from '../../../support/tables.ts';

let dynamodb: TestDynamoDb;
let tables: TableNames;
const units = { read: 0, written: 0 };
/** Rejects the calls of this number and later, as a death would. */
let deadFrom = Number.POSITIVE_INFINITY;
let calls = 0;

beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  tables = await createTables(dynamodb.client, 'members');
  dynamodb.client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        if (++calls >= deadFrom) throw new Error('dead');
        const answer = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } });
        const { ConsumedCapacity = [] } = answer.output as unknown as {
          ConsumedCapacity?: { CapacityUnits?: number } | { CapacityUnits?: number }[];
        };
        const sum = [ConsumedCapacity].flat().reduce((total, { CapacityUnits = 0 }) => total + CapacityUnits, 0);
        units[/Get|Query/.test(commandName) ? 'read' : 'written'] += sum;
        return answer;
      },
    { step: 'initialize' },
  );
}, 60_000);
afterAll(() => dynamodb?.stop());

const storeNow = () => createMemberStore(dynamodb.client, tables.members, () => new Date());

async function measured(work: () => Promise<void>): Promise<{ read: number; written: number }> {
  Object.assign(units, { read: 0, written: 0 });
  await work();
  return { ...units };
}

/** Members with a name and labels, sealed as in production. */
async function sealed(tenant_id: string, count: number): Promise<StoredMember[]> {
  const sealing = createMemberSealing(sealerOn(dynamodb.client, tables), async () => 'key');
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const identity = {
        email: `a.long.name.of.a.person.${i}@mail.example-company.co.jp`,
        name: '山田 太郎 Yamada Taro',
      };
      const sealed_identity = await sealing.sealMember(tenant_id, `member-${i}`, identity);
      return storedMember(tenant_id, `member-${i}`, {
        email: identity.email,
        sealed_identity,
        labels: ['vip', 'osaka', '2026'],
        newsletters: ['weekly', 'daily'],
      });
    }),
  );
}

describe('members cost', () => {
  it('one read of their pointers, when they were looked for before they are stored', async () => {
    const members = await sealed('found', 100);
    const store = storeNow();
    calls = 0;
    await store.upsert(
      members,
      await store.find(
        'found',
        members.map(({ member_id }) => member_id),
      ),
    );
    // Pointers read; pointers and items written, 25 at a time.
    expect(calls).toBe(1 + 4 + 4);
  });

  it('two write units when new, one when changed, six when they move', async () => {
    const members = await sealed('costs', 25);
    const [first] = members;
    if (first === undefined) throw new Error('no member');
    expect((await measured(() => storeNow().upsert(members))).written / 25).toBe(2);
    expect((await measured(() => storeNow().upsert(members))).written / 25).toBe(1);
    const moved = { ...first, email_hash: `z${first.email_hash.slice(1)}` };
    expect((await measured(() => storeNow().upsert([moved]))).written).toBe(6);
  });
});

describe('a death between two calls', () => {
  it.each([1, 2, 3, 4])(
    'before call %d leaves a member that the next upsert completes, and nobody twice',
    async (call) => {
      const tenant_id = `death-${call}`;
      const [first, moved] = ['a', 'b'].map((name) => storedMember(tenant_id, 'm', { email: `${name}@example.com` }));
      if (first === undefined || moved === undefined) throw new Error('no member');
      for (const member of [first, moved]) {
        deadFrom = calls + call;
        await storeNow()
          .upsert([member])
          .catch(() => undefined);
        deadFrom = Number.POSITIVE_INFINITY;
        const between: unknown[] = [];
        for await (const page of storeNow().addresses(tenant_id)) between.push(...page.flatMap((one) => one.members));
        expect(between.length).toBeLessThanOrEqual(1);
        await storeNow().upsert([member]);
        const found: StoredMember[] = [];
        for await (const page of storeNow().addresses(tenant_id)) found.push(...page.flatMap((one) => one.members));
        expect(found).toMatchObject([{ email_hash: member.email_hash }]);
        expect(await storeNow().read(tenant_id, 'm')).toEqual(found[0]);
      }
    },
  );

  it('lets a write that comes late change nothing', async () => {
    const member = storedMember('late', 'm', { email: 'a@example.com' });
    const store = storeNow();
    await store.upsert([member]);
    const { Item } = await dynamodb.client.send(new GetItemCommand({ TableName: tables.members, Key: keyOf(member) }));
    const version = Number(Item?.['version']?.N);
    await store.remove('late', 'm');
    const late = putGuarded(dynamodb.client, tables.members, memberItem(member, version), [notNewer(version)]);
    expect(await late).toMatchObject({ applied: false });
    expect(await store.read('late', 'm')).toBeUndefined();
  });

  function keyOf(member: StoredMember) {
    const { shard, item } = memberItem(member, 0);
    if (shard === undefined || item === undefined) throw new Error('no key');
    return { shard, item };
  }
});

it('a long partition is read page by page, and an address on two pages is one', async () => {
  const tenant_id = 'pages';
  const big = 'x'.repeat(30_000);
  const email_hash = storedMember(tenant_id, 'm').email_hash;
  const members = Array.from({ length: 60 }, (_, i) => ({
    ...storedMember(tenant_id, `m-${i}`),
    email_hash: i < 45 ? email_hash : `${email_hash.slice(0, -2)}~${i % 10}`,
    sealed_identity: big,
  }));
  for (let i = 0; i < members.length; i += 20) await storeNow().upsert(members.slice(i, i + 20));
  const pages: number[][] = [];
  for await (const page of storeNow().addresses(tenant_id)) pages.push(page.map((one) => one.members.length));
  const sizes = pages.flat();
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(60);
  expect(Math.max(...sizes)).toBe(45);
  expect(pages.length).toBeGreaterThan(1);
});
