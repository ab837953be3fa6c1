import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emailAccess } from '../../../src/application/emails/email-access.ts';
import type { AnswerOf } from '../../../src/application/routes.ts';
import { type Operations, startOperations } from '../../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../../support/console.ts';

let ops: Operations;
let page: TestConsole;
let viewer: TestConsole;
let now = new Date();
beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops, { clock: () => now });
  viewer = await startTestConsole(ops, { role: 'viewer', clock: () => now });
}, 60_000);
afterAll(async () => {
  await viewer?.stop();
  await page?.stop();
  await ops?.stop();
});

async function tenantWith(tenant_id: string, ...newsletters: string[]) {
  const { newsletters: store } = emailAccess({ ...ops, clock: () => new Date(), newId: randomUUID });
  const at = new Date().toISOString();
  for (const newsletter_id of newsletters) {
    const named = { name: newsletter_id, from: 'n@example.com', created_at: at, updated_at: at };
    await store.put({ ...named, tenant_id, newsletter_id });
  }
}

const fileOf = (text: string, file_name = 'members.csv') => ({
  file_name,
  content: Buffer.from(text).toString('base64'),
});
const preview = (tenant: string, file: object, by = page) =>
  by.call('POST /api/members/import-preview', { body: { tenant, ...file } });
const imported = (tenant: string, file: object, by = page) =>
  by.call('POST /api/members/import', { body: { request_id: randomUUID(), tenant, ...file } });

const errorsOf = (body: object) => ('errors' in body ? (body.errors as { readonly path: string }[]) : []);

const FILE = [
  'member_id,email,name,newsletters,unsubscribed,suppressed',
  'm-1,one@example.com,One,weekly;daily,weekly,',
  'm-2,two@example.com,Two,weekly,,bounced',
  'm-3,three@example.com,Three,weekly,,',
  'm-4,no address,Four,weekly,,',
  'm-5,five@example.com,Five,nightly,,',
  'm-6,six@example.com,Six,,,',
].join('\n');
const SUMS = { line: 7, created: 4, changed: 0, bad: 2, skipped: 0, unsubscribed: 1, suppressed: 1, next: null };

describe('members by newsletter and state', () => {
  beforeAll(async () => {
    await tenantWith('T-LIST', 'weekly', 'daily');
    expect((await imported('T-LIST', fileOf(FILE))).body).toMatchObject(SUMS);
  });

  it.each([
    [{}, ['m-1 subscribed', 'm-2 suppressed', 'm-3 subscribed', 'm-6 none']],
    [{ newsletter: 'weekly' }, ['m-1 unsubscribed', 'm-2 suppressed', 'm-3 subscribed']],
    [{ newsletter: 'daily' }, ['m-1 subscribed']],
    [{ newsletter: 'weekly', state: 'unsubscribed' }, ['m-1 unsubscribed']],
    [{ state: 'none' }, ['m-6 none']],
  ])('%j are %j', async (query, expected) => {
    const { members } = await viewer.ok('GET /api/members', { query: { tenant: 'T-LIST', ...query } });
    expect(members.map(({ member_id, state }) => `${member_id} ${state}`).sort()).toEqual(expected);
    expect(JSON.stringify(members)).not.toMatch(/@|One|Two|Three/);
  });

  it('are listed page by page', async () => {
    const found: string[] = [];
    let cursor: string | null = '';
    do {
      const query: Record<string, string> = { tenant: 'T-LIST', limit: '1', ...(cursor && { cursor }) };
      const answer: AnswerOf<'GET /api/members'> = await page.ok('GET /api/members', { query });
      found.push(...answer.members.map(({ member_id }) => member_id));
      cursor = answer.next_cursor;
    } while (cursor !== null);
    expect(found.sort()).toEqual(['m-1', 'm-2', 'm-3', 'm-6']);
  });

  it.each([
    ['m-1', ['daily']],
    ['m-2', []],
    ['m-3', ['weekly']],
  ])('%s gets %j, and no sentence says otherwise', async (member_id, gets) => {
    const member = await page.ok('GET /api/members/{member_id}', { path: { member_id }, query: { tenant: 'T-LIST' } });
    expect(member.gets).toEqual(gets);
    const { out } = await ops.run(['members', 'show', member_id, '--tenant', 'T-LIST']);
    expect(out).toContain(`  gets ${gets.join(', ') || 'no newsletter'}\n`);
  });
});

describe('a file of members', () => {
  it('is previewed by the rules of the command, which names the same lines and sums; nothing is stored', async () => {
    await tenantWith('T-LOOK', 'weekly', 'daily');
    const { status, body } = await preview('T-LOOK', fileOf(FILE));
    expect([status, body]).toMatchObject([200, SUMS]);
    expect(body.faults.map(({ line, column }: { line: number; column: string }) => [line, column])).toEqual([
      [5, 'email'],
      [6, 'newsletters'],
    ]);
    const path = join(ops.directory, 'look.csv');
    writeFileSync(path, FILE);
    const { out, err } = await ops.run(['members', 'import', path, '--tenant', 'T-LOOK', '--dry-run', '--json']);
    const { line, next: _, unsubscribed, suppressed, skipped: __, ...sums } = SUMS;
    expect(JSON.parse(out)).toEqual({ dry_run: true, lines: line, ...sums, unsubscribed, suppressed });
    for (const { line, message } of body.faults)
      expect(err).toMatch(new RegExp(`Line ${line}: \\w+ ${message.slice(0, 20)}`));
    expect((await page.ok('GET /api/members', { query: { tenant: 'T-LOOK' } })).members).toEqual([]);
    await imported('T-LOOK', fileOf(FILE));
    expect((await preview('T-LOOK', fileOf(FILE))).body).toMatchObject({ ...SUMS, created: 0, changed: 4 });
  });

  it('is stored in as many requests as it takes, each of which goes on where the last one ended', async () => {
    await tenantWith('T-LONG', 'weekly');
    const lines = Array.from({ length: 1_500 }, (_, i) => `m-${i},m${i}@example.com`);
    const file = { newsletter: 'weekly', ...fileOf(`member_id,email\n${lines.join('\n')}\n`) };
    // Each look at the clock is three seconds later: no request stores all of it.
    const at = now;
    const ticking = await startTestConsole(ops, { clock: () => (now = new Date(now.getTime() + 3_000)) });
    let after: number | null = 0;
    let [created, requests] = [0, 0];
    do {
      const { status, body }: Awaited<ReturnType<typeof imported>> = await imported(
        'T-LONG',
        { ...file, after },
        ticking,
      );
      expect(status).toBe(200);
      expect(body.next ?? Number.POSITIVE_INFINITY).toBeGreaterThan(after);
      [after, created, requests] = [body.next, created + body.created, requests + 1];
    } while (after !== null);
    now = at;
    await ticking.stop();
    expect(created).toBe(1_500);
    expect(requests).toBeGreaterThan(1);
  });

  it('is the file of who left, where it is said so, and an import is audited without anybody’s address', async () => {
    await tenantWith('T-LEFT', 'weekly');
    const file = { newsletter: 'weekly', ...fileOf('email\nleft@example.com\n', 'unsubscribed.csv') };
    const refused = await preview('T-LEFT', file);
    expect([refused.status, errorsOf(refused.body)]).toEqual([400, [expect.objectContaining({ path: 'file' })]]);
    expect((await imported('T-LEFT', { ...file, as: 'unsubscribed' })).body).toMatchObject({
      created: 1,
      unsubscribed: 1,
    });
    const { members } = await page.ok('GET /api/members', { query: { tenant: 'T-LEFT', newsletter: 'weekly' } });
    expect(members).toMatchObject([{ state: 'unsubscribed', gets: [] }]);
    const { entries } = await page.ok('GET /api/audit', { query: { what: 'member.import' } });
    const ours = entries.filter(({ details = '' }) => details.includes('T-LEFT'));
    expect(ours).toMatchObject([{ who: 'mori', on: ['weekly'], result: { created: 1, changed: 0, bad: 0 } }]);
    expect(JSON.stringify(ours)).not.toContain('left@');
  });

  it.each([
    ['newsletter', { newsletter: 'nightly' }],
    ['as', { as: 'unsubscribed' }],
    ['file_name', { file_name: 'members.xlsx' }],
    ['file', { content: Buffer.from('name\nAnn').toString('base64') }],
    ['content', { content: 'no base64' }],
  ])('is refused by what is wrong with its %s', async (path, wrong) => {
    await tenantWith('T-WRONG', 'weekly');
    const file = { ...fileOf('email\na@example.com\n'), ...wrong };
    for (const ask of [preview, imported]) {
      const { status, body } = await ask('T-WRONG', file);
      expect([status, errorsOf(body)[0]?.path]).toEqual([400, path]);
    }
  });

  it('is imported by operators only', async () => {
    expect((await preview('T-LIST', fileOf(FILE), viewer)).status).toBe(403);
    expect((await imported('T-LIST', fileOf(FILE), viewer)).status).toBe(403);
  });
});
