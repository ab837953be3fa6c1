import { type AttributeValue, ScanCommand } from '@aws-sdk/client-dynamodb';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServedRoute } from '../../../../functions/shared/api/api-function.ts';
import { signPageToken } from '../../../../src/adapters/api-keys/page-token.ts';
import type { ApiRoute } from '../../../../src/application/contract/api/route.ts';
import { SCOPES, type Scope } from '../../../../src/core/intake/api-scopes.ts';
import { type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { deadRow } from '../../../support/cli/operations.ts';

/** A route is open only as far as it is here: a new one that needs no key, any key, or takes tokens, gets a line. */
const OPEN: Readonly<Record<string, Pick<ApiRoute, 'scope' | 'tokens'>>> = {
  'GET /v1/openapi.json': { scope: 'none' },
  'POST /v1/tokens': { scope: 'any' },
  'POST /v1/notifications': { scope: 'send', tokens: 'send' },
  'GET /v1/notifications/{log_id}': { scope: 'read', tokens: 'log_id' },
  'POST /v1/notifications/{log_id}/retry': { scope: 'operate', tokens: 'log_id' },
};
/** What only shows something needs a scope that changes nothing; addresses are shown to who may change them. */
const READS: readonly Scope[] = ['read', 'newsletters:read'];
const SHOWS_ADDRESSES = ['GET /v1/members'];

const EMAIL = { channel: 'email', recipient: 'a@b.example', body: 'Text' };
const POST = { newsletter_id: 'a-weekly', subject: 'Subject', body: 'Text', format: 'text' };
const LATER = new Date(Date.now() + 86_400_000).toISOString();

/** Bodies that are right, with the ids of the owner's things. A new route that takes one gets a line. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /v1/notifications': EMAIL,
  'POST /v1/notifications/batch': { notifications: [EMAIL] },
  'POST /v1/notifications/{log_id}/failures': { error_type: 'UNKNOWN' },
  'POST /v1/tokens': { log_ids: ['A-log'] },
  'PUT /v1/newsletters/{newsletter_id}': { name: 'Mine', from: 'n@example.com' },
  'POST /v1/members': { members: [{ member_id: 'a-member', email: 'x@example.com', labels: ['taken'] }] },
  'POST /v1/members/{member_id}/resubscribe': { newsletter_id: 'a-weekly' },
  'POST /v1/emails': { ...POST, scheduled_at: LATER },
  'PUT /v1/emails/{email_id}': POST,
  'POST /v1/emails/preview': { ...POST, member_id: 'a-member' },
  'POST /v1/emails/{email_id}/preview': { member_id: 'a-member' },
  'POST /v1/emails/test': { ...POST, to: ['me@example.com'] },
  'POST /v1/emails/{email_id}/test': { to: ['me@example.com'] },
  'POST /v1/emails/{email_id}/resolve': { action: 'leave' },
};

/** What the owner's things say, and no answer to another tenant may. */
const MARK = 'of-the-owner';
/** A route that looks at no owner, as somebody could write it. */
const UNSAFE: ServedRoute = {
  key: 'GET /v1/notifications/{log_id}/unsafe',
  summary: '',
  scope: 'any',
  answer: { status: 200, description: '' },
  handle: async ({ path }) => ({ body: (await world.row(path['log_id'] ?? '')) ?? {} }),
};

let world: ApiWorld;
let owner: { readonly tenant_id: string; readonly key: string };
let other: { readonly tenant_id: string; readonly key: string; readonly key_id: string };
/** An id of the owner's for each parameter that a path may have. */
let ids: Record<string, string>;

beforeAll(async () => {
  world = await startApiWorld([UNSAFE]);
  owner = await tenant('tenant-owner');
  other = await tenant('tenant-other');
  const send = async (method: string, path: string, body: object) => {
    const answer = await world.call(method, path, { key: owner.key, body, headers: { 'idempotency-key': 'owner' } });
    expect([answer.status < 300, answer.body]).toEqual([true, answer.body]);
    return answer.body;
  };
  await world.put(deadRow('A-log', { tenant_id: owner.tenant_id, notification_id: MARK }));
  await send('PUT', '/v1/newsletters/a-weekly', { name: MARK, from: `n@${MARK}.example` });
  const member = { member_id: 'a-member', email: `m@${MARK}.example`, name: MARK, newsletters: ['a-weekly'] };
  await send('POST', '/v1/members', { members: [member] });
  const { email_id } = await send('POST', '/v1/emails', { ...POST, subject: MARK, scheduled_at: LATER });
  ids = { log_id: 'A-log', newsletter_id: 'a-weekly', member_id: 'a-member', email_id };
}, 60_000);
afterAll(() => world?.stop());

async function tenant(tenant_id: string) {
  return { tenant_id, ...(await world.key(tenant_id)) };
}

const names = (key: string) => [...key.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
const pathOf = (key: string, given: Readonly<Record<string, string>>) =>
  names(key).reduce((path, name) => path.replace(`{${name}}`, given[name] ?? `no-${name}`), key.split(' ')[1] ?? '');
let serial = 0;

async function ask({ key }: Pick<ApiRoute, 'key'>, header: string | undefined, given = ids) {
  const [method = ''] = key.split(' ');
  const body = BODIES[key];
  return world.call(method, pathOf(key, given), {
    headers: { 'idempotency-key': `k-${++serial}`, ...(header !== undefined && { authorization: header }) },
    ...(method !== 'GET' && method !== 'DELETE' && { body: body ?? {} }),
  });
}

const bearer = (key: string) => `Bearer ${key}`;
const SECRET = 'the secret of the tokens, at least thirty-two characters';

/** Who is nobody: each is refused everywhere, as if nothing had been sent. */
const NOBODIES: Readonly<Record<string, () => Promise<string | undefined> | string | undefined>> = {
  'no header': () => undefined,
  'no key': () => bearer('x'),
  'a key with another secret': () => bearer(`${other.key.slice(0, -4)}AAAA`),
  'a key of an id that does not exist': () => bearer(other.key.replace(other.key_id, '0'.repeat(16))),
  'a key as Basic': () => `Basic ${Buffer.from(`${other.key}:`).toString('base64')}`,
  'a revoked key': async () => {
    const { key, key_id } = await world.key(other.tenant_id);
    await world.keys.end(key_id, { revoked_at: world.now().toISOString() });
    return bearer(key);
  },
  'a token that has ended': () => tokenOf({ send: true }, { expires_at: new Date(0).toISOString() }),
  'a token of another secret': () => tokenOf({ send: true }, { secret: SECRET.replace('the', 'one') }),
  'a token of a revoked key': async () => {
    const { key_id } = await world.key(other.tenant_id);
    await world.keys.end(key_id, { revoked_at: world.now().toISOString() });
    return tokenOf({ send: true }, { key_id });
  },
  'a token of a key without the scope': async () => {
    const { key_id } = await world.key(other.tenant_id, ['newsletters:write']);
    return tokenOf({ log_ids: Object.values(ids) }, { key_id });
  },
};

const TOKENS = {
  send: () => tokenOf({ send: true }),
  log_id: () => tokenOf({ log_ids: Object.values(ids) }),
  'another log_id': () => tokenOf({ log_ids: ['B-log'] }),
} as const;

function tokenOf(
  rights: Parameters<typeof signPageToken>[1]['rights'],
  { secret = SECRET, key_id = other.key_id, expires_at = new Date(Date.now() + 600_000).toISOString() } = {},
): string {
  return bearer(signPageToken(secret, { key_id, expires_at, rights }));
}

/** What is wrong with a route's rights, by its own data and by what it answers. */
async function faultsOfRights(route: ApiRoute): Promise<string[]> {
  const { key, scope } = route;
  const open = OPEN[key];
  const faults: string[] = [];
  const wants = (ok: boolean, says: string) => void (ok || faults.push(says));
  wants(scope === open?.scope || !(scope === 'none' || scope === 'any'), `is open to ${scope}`);
  wants(route.tokens === open?.tokens, `takes tokens ${route.tokens}`);
  const needs: string = key.startsWith('GET ') && !SHOWS_ADDRESSES.includes(key) ? 'reads' : 'changes';
  const kind = READS.some((one) => one === scope) ? 'reads' : 'changes';
  wants(scope === 'none' || scope === 'any' || kind === needs, `${needs}, by the scope ${scope}`);
  if (scope === 'none') return faults;
  for (const [who, header] of Object.entries(NOBODIES)) {
    const { status } = await ask(route, await header());
    wants(status === 401, `answers ${who} with ${status}`);
  }
  if (scope !== 'any') {
    for (const held of SCOPES) {
      const { status } = await ask(route, bearer((await world.key(other.tenant_id, [held])).key));
      wants((status === 403) === (held !== scope), `answers a key with ${held} with ${status}`);
    }
  }
  for (const [which, header] of Object.entries(TOKENS)) {
    const { status } = await ask(route, header());
    wants((status === 403) === (which !== open?.tokens), `answers a token of ${which} with ${status}`);
  }
  return faults;
}

/** Everything in the tables that is the owner's. */
async function ofOwner(): Promise<string> {
  const found: Record<string, AttributeValue>[] = [];
  for (const TableName of Object.values(world.tables)) {
    const { Items = [] } = await world.client.send(new ScanCommand({ TableName, ConsistentRead: true }));
    found.push(...Items.filter((item) => /tenant-owner|A-log/.test(JSON.stringify(item))));
  }
  return found
    .map((item) => canonicalize(item))
    .sort()
    .join('\n');
}

/** What another tenant, which may do everything with its own, sees or changes of the owner's. */
async function faultsOfOwnership(route: ApiRoute): Promise<string[]> {
  const { key } = route;
  const faults: string[] = [];
  const unknown = names(key).filter((name) => ids[name] === undefined);
  if (unknown.length > 0) return [`has a parameter ${unknown} of which the test has no id of the owner's`];
  if (route.body !== undefined && BODIES[key] === undefined) return ['takes a body, of which the test has none'];
  const before = await ofOwner();
  // A new one for each route, which has nothing of its own under the owner's ids.
  const stranger = await tenant(`stranger-${++serial}`);
  const theirs = await ask(route, bearer(stranger.key));
  const nobodys = Object.fromEntries(Object.keys(ids).map((name) => [name, `nobody-s-${name.slice(0, 3)}`]));
  const unheard = await ask(route, bearer(stranger.key), nobodys);
  const text = (answer: typeof theirs, given: Readonly<Record<string, string>>) =>
    Object.values(given)
      .reduce((body, id) => body.replaceAll(id, '<id>'), canonicalize([answer.status, answer.body]) ?? '')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|nrt_[\w.-]+|[\da-f]{8}-[\da-f-]{27}/g, '<made>');
  if (names(key).length > 0 && text(theirs, ids) !== text(unheard, nobodys)) {
    faults.push(`tells the owner's from nobody's: ${text(theirs, ids)}, ${text(unheard, nobodys)}`);
  }
  if (JSON.stringify(theirs.body).includes(MARK)) faults.push('shows what is the owner’s');
  if (theirs.status >= 500) faults.push(`answers with ${theirs.status}`);
  if ((await ofOwner()) !== before) faults.push('changes what is the owner’s');
  return faults;
}

const safe = () => world.routes.filter((one) => one !== UNSAFE);

describe('every route of the API', () => {
  it('is open to who has its scope or its token, and to nobody else', async () => {
    const faults = new Map<string, string[]>();
    for (const one of safe()) faults.set(one.key, await faultsOfRights(one));
    expect([...faults].filter(([, found]) => found.length > 0)).toEqual([]);
    expect(faults.size).toBeGreaterThanOrEqual(25);
  }, 120_000);

  it('shows and changes nothing of another tenant, and does not tell its things from what nobody has', async () => {
    const faults = new Map<string, string[]>();
    for (const one of safe()) faults.set(one.key, await faultsOfOwnership(one));
    expect([...faults].filter(([, found]) => found.length > 0)).toEqual([]);
  }, 120_000);

  it('would be found here without its checks', async () => {
    expect(await faultsOfRights(UNSAFE)).toContain('is open to any');
    expect(await faultsOfOwnership(UNSAFE)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^tells the owner/), 'shows what is the owner’s']),
    );
  });

  it('takes the owner’s things from the owner, so that the ids above are right', async () => {
    const missing: string[] = [];
    for (const one of safe().filter(({ key }) => names(key).length > 0)) {
      // What deletes comes last.
      if (one.key.startsWith('DELETE ')) continue;
      const { status } = await ask(one, bearer(owner.key));
      // There is no dry run of many members, and an email that waits has nothing to decide.
      if ((status === 404 || status >= 500) && !one.key.endsWith('/dry-run')) missing.push(`${one.key} ${status}`);
    }
    expect(missing).toEqual([]);
    expect((await world.call('DELETE', '/v1/members/a-member', { key: owner.key })).status).toBe(200);
  });
});
