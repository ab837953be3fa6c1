import { chmodSync, closeSync, openSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemberStore } from '../../../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';

let ops: Operations;
let tenant: string;
let serial = 0;
const AT = '2026-11-22T00:00:00.000Z';

beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());
const giveNewsletters = async (tenant_id: string) => {
  const newsletters = createNewsletterStore(ops.dynamodb, ops.tables.newsletters);
  const common = { tenant_id, name: 'N', from: 'n@example.com', created_at: AT, updated_at: AT };
  for (const newsletter_id of ['weekly', 'daily']) await newsletters.put({ ...common, newsletter_id });
};
beforeEach(async () => {
  tenant = `moving-${++serial}`;
  await giveNewsletters(tenant);
});

const pathOf = (name: string) => join(ops.directory, `${++serial}-${name}`);
const file = (name: string, content: string) => {
  const path = pathOf(name);
  writeFileSync(path, content);
  return path;
};
const run = async (path: string, ...more: string[]) => {
  const { code, out, err } = await ops.run([
    ...['members', 'import', path, '--tenant', tenant, '--newsletter', 'weekly', '--json'],
    ...more,
  ]);
  return { code, err, report: out === '' ? undefined : JSON.parse(out) };
};
const show = async (...args: string[]) =>
  JSON.parse((await ops.run(['members', 'show', '--tenant', tenant, '--json', ...args])).out);

/** As Ghost's admin writes it (core/server/services/members/csv): CRLF, labels in one cell, formulas with an apostrophe. */
const GHOST_HEADER =
  'id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers,gift_id';
const ghost = (...lines: readonly string[]) => [GHOST_HEADER, ...lines].join('\r\n');
/** As listmonk's ExportSubscribers writes it. */
const LISTMONK_HEADER = 'uuid,email,name,attributes,status,created_at,updated_at';
const listmonk = (...lines: readonly string[]) => [LISTMONK_HEADER, ...lines].join('\n');

describe("Ghost's export", () => {
  it('is taken as it is: statuses, labels, dates, and who does not want mail', async () => {
    const path = file(
      'members.csv',
      ghost(
        'g1,ann@example.com,Ann Lee,,true,false,,2019-10-30T14:52:08.000Z,,"vip, tokyo",,',
        'g2,ben@example.com,"\'=1+2","Two lines,\r\nand ""quotes""",true,false,cus_1,2020-01-02T00:00:00.000Z,,,Gold,',
        'g3,cat@example.com,Cat,,false,true,,2021-03-04T00:00:00.000Z,,,,',
        ',dan@example.com,,,true,false,,,,,,',
        'g5,eve@example.com,Eve,,true,false,,2021-03-04T00:00:00.000Z,2022-01-01T00:00:00.000Z,,,',
      ),
    );
    const { code, err, report } = await run(path);
    expect([code, err]).toEqual([0, '']);
    expect(report).toMatchObject({ created: 4, changed: 0, bad: 0, skipped: 1, unsubscribed: 1 });
    const [ann] = (await show('g1')).members;
    expect(ann).toMatchObject({ status: 'free', labels: ['vip', 'tokyo'], created_at: '2019-10-30T14:52:08.000Z' });
    expect((await show('g2')).members[0]).toMatchObject({ name: '=1+2', status: 'paid', newsletters: ['weekly'] });
    const cat = await show('g3');
    expect(cat.members[0]).toMatchObject({ status: 'comped' });
    expect(Object.keys(cat.unsubscribed)).toEqual(['weekly']);
    expect((await show('--email', 'dan@example.com')).members).toHaveLength(1);
  });

  it('is named line by line where it is wrong, in a list of a thousand, and its sums are those of the file', async () => {
    const faults: Readonly<Record<number, string>> = {
      100: 'g100,not an address,,,true,false,,,,,,',
      200: 'g200,,,,true,false,,,,,,',
      300: 'g300,m300@example.com,,,true,false,,yesterday,,,,',
      400: `g400,m400@example.com,${'x'.repeat(201)},,true,false,,,,,,`,
      500: 'g500,m500@example.com,too,few',
      600: `${'g'.repeat(300)},m600@example.com,,,true,false,,,,,,`,
      700: `g700,m700@example.com,,,true,false,,,,${'l'.repeat(101)},,`,
      999: 'g999,m999@example.com,"never closed,,true,false,,,,,,',
    };
    const lines = Array.from(
      { length: 1_000 },
      (_, i) => faults[i] ?? `g${i},m${i % 950}@example.com,,,${i % 10 !== 0},false,,2020-01-01T00:00:00.000Z,,,,`,
    );
    const rejects = pathOf('rejects.jsonl');
    const { code, report } = await run(file('thousand.csv', ghost(...lines)), '--rejects', rejects);
    expect(code).toBe(1);
    const bad = Object.keys(faults).length;
    const { created, changed, skipped = 0 } = report;
    expect(created + changed + skipped + report.bad).toBe(1_000);
    expect(report).toMatchObject({ created: 1_000 - bad, changed: 0, bad });
    expect(report.unsubscribed).toBe(
      lines.filter((line, i) => !(i in faults) && line.includes(',false,false,')).length,
    );
    const named = readFileSync(rejects, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(named.map(({ line, column }) => [line, column])).toEqual([
      [102, 'email'],
      [202, 'email'],
      [302, 'created_at'],
      [402, 'name'],
      [502, ''],
      [602, 'member_id'],
      [702, 'labels.0'],
      [1_001, ''],
    ]);
    expect(readFileSync(rejects, 'utf8')).not.toMatch(/m\d+@|not an address/);
  }, 30_000);
});

describe("listmonk's export", () => {
  it('is taken as it is: attributes are left out, who is disabled or blocked gets no mail', async () => {
    const path = file(
      'subscribers.csv',
      listmonk(
        '5c1f6a31-0000-4000-8000-000000000001,ann@example.com,Ann,"{""city"": ""Bengaluru""}",enabled,2024-05-01 10:20:30.123456+00,2024-05-02 10:20:30.123456+00',
        '5c1f6a31-0000-4000-8000-000000000002,ben@example.com,Ben,{},disabled,2024-05-01T10:20:30Z,2024-05-02T10:20:30Z',
        '5c1f6a31-0000-4000-8000-000000000003,cat@example.com,Cat,{},blocklisted,2024-05-01 10:20:30+00,2024-05-02 10:20:30+00',
      ),
    );
    const { code, err, report } = await run(path, '--as', 'subscribed');
    expect([code, err]).toEqual([0, '']);
    expect(report).toMatchObject({ created: 3, bad: 0, unsubscribed: 1, suppressed: 1 });
    const ann = await show('5c1f6a31-0000-4000-8000-000000000001');
    expect(ann).toMatchObject({ members: [{ created_at: '2024-05-01T10:20:30.123Z', newsletters: ['weekly'] }] });
    const ben = await show('5c1f6a31-0000-4000-8000-000000000002');
    expect(Object.keys(ben.unsubscribed)).toEqual(['weekly']);
    const cat = await show('5c1f6a31-0000-4000-8000-000000000003');
    expect(cat.suppressed).toMatchObject({ reason: 'operator' });
  });
});

describe('who has unsubscribed', () => {
  const without = async (name: string, content: string) =>
    ops.run(['members', 'import', file(name, content), '--tenant', tenant]);

  it.each([
    ['Ghost', ghost('g1,ann@example.com,Ann,,true,false,,,,,,', 'g2,cat@example.com,Cat,,false,false,,,,,,')],
    ['listmonk', listmonk('u1,ann@example.com,Ann,{},enabled,,', 'u2,ben@example.com,Ben,{},disabled,,')],
  ])('is not lost: an export of %s without a newsletter is refused before anything is stored', async (of, content) => {
    const { code, err } = await without('export.csv', content);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(`export of ${of} .*add --newsletter`) });
    const { code: shown } = await ops.run(['members', 'show', '--tenant', tenant, '--email', 'ann@example.com']);
    expect(shown).not.toBe(0);
  });

  it.each([
    ['lines.csv', 'email,unsubscribed\nann@example.com,false\nben@example.com,true\n', 3],
    ['lines.jsonl', '{"email":"ann@example.com"}\n{"email":"ben@example.com","unsubscribed":true}\n', 2],
  ])('is not lost: a line of %s that does not say from what is bad', async (name, content, line) => {
    const { code, err } = await without(name, content);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`Line ${line}: unsubscribed must name`) });
    expect((await show('--email', 'ann@example.com')).members).toHaveLength(1);
  });
});

describe('an export of ours', () => {
  const exported = async (of: string, name: string) => {
    const path = pathOf(name);
    const { code, err } = await ops.run(['members', 'export', path, '--tenant', of]);
    expect([code, err]).toEqual([0, expect.any(String)]);
    return path;
  };
  const sorted = (path: string) => readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean).sort();

  const text = fc.oneof(
    fc.constantFrom('=1+2', "'=x", 'a;b', 'a\\;b', 'end\\', '\\\\', "\\'=;", '"q", r', '花子', '+81', "it's", '@home'),
    fc.string({ minLength: 1, maxLength: 20 }).filter((one) => /^[\x21-\x7e]+$/.test(one)),
  );
  const time = fc.date({ min: new Date('2000-01-01'), max: new Date('2026-01-01'), noInvalidDate: true });
  const iso = time.map((one) => one.toISOString());
  const member = fc.record(
    {
      // Some begin as a formula does, or as one that was made harmless.
      before: fc.constantFrom('', '=1', '+', '-', "'", "'=1", "''+"),
      name: text,
      status: fc.constantFrom('free', 'paid', 'comped'),
      labels: fc.uniqueArray(text, { maxLength: 3 }),
      newsletters: fc.subarray(['weekly', 'daily']),
      created_at: iso,
      unsubscribed: fc.dictionary(fc.constantFrom('weekly', 'daily'), iso),
      suppressed: fc.record({ reason: fc.constantFrom('bounced', 'complained', 'operator'), at: iso }),
    },
    { requiredKeys: ['before', 'status', 'labels', 'newsletters', 'created_at'] },
  );

  it.each(['csv', 'jsonl'])(
    'is the same again after it was imported elsewhere, as %s',
    async (format) => {
      await fc.assert(
        fc.asyncProperty(fc.array(member, { minLength: 1, maxLength: 8 }), async (given) => {
          const [from, to] = [`from-${++serial}`, `to-${++serial}`];
          await Promise.all([giveNewsletters(from), giveNewsletters(to)]);
          const addressOf = (before: string, i: number) => `${before}m${i}@example.com`;
          const lines = given.map(({ before, ...one }, i) =>
            JSON.stringify({ member_id: `m-${i}`, email: addressOf(before, i), ...one }),
          );
          const first = await ops.run(['members', 'import', file('given.jsonl', lines.join('\n')), '--tenant', from]);
          expect([first.code, first.err]).toEqual([0, expect.any(String)]);
          const out = await exported(from, `out.${format}`);
          // No cell is a formula in a spreadsheet.
          const cells = format === 'csv' ? parse(readFileSync(out, 'utf8')).flat() : [];
          expect(cells.filter((cell) => /^[=+\-@\t]/.test(cell))).toEqual([]);
          expect((await ops.run(['members', 'import', out, '--tenant', to])).code).toBe(0);
          expect(sorted(await exported(to, `again.${format}`))).toEqual(sorted(out));
          const all = readFileSync(await exported(to, 'all.jsonl'), 'utf8')
            .trim()
            .split('\n');
          const byId = new Map(all.map((line) => [JSON.parse(line).member_id, JSON.parse(line)]));
          for (const [i, { unsubscribed = {}, before, name: text, ...rest }] of given.entries()) {
            const name = text?.trim();
            const email = addressOf(before, i);
            expect(byId.get(`m-${i}`)).toMatchObject({ ...rest, email, ...(name && { name }) });
            expect(byId.get(`m-${i}`)?.unsubscribed ?? {}).toEqual(unsubscribed);
          }
        }),
        { numRuns: process.env['FAULT_SEED'] === undefined ? 2 : 12, seed: 7, endOnFailure: true },
      );
    },
    60_000,
  );

  it('counts addresses of which only the hash is known, is readable by its owner only, and can be of one newsletter', async () => {
    const members = createMemberStore(ops.dynamodb, ops.tables.members, () => new Date());
    const path = file(
      'two.csv',
      'member_id,email,newsletters\nm-1,ann@example.com,weekly\nm-2,ben@example.com,daily\n',
    );
    expect((await ops.run(['members', 'import', path, '--tenant', tenant])).code).toBe(0);
    await members.suppress(tenant, 'A'.repeat(22), { reason: 'complained', at: AT });
    const out = pathOf('one.csv');
    const { out: told } = await ops.run([
      'members',
      'export',
      out,
      '--tenant',
      tenant,
      '--newsletter',
      'daily',
      '--json',
    ]);
    expect(JSON.parse(told)).toEqual({ members: 1, unsubscribed: 0, suppressed: 0, without_member: 1 });
    expect(readFileSync(out, 'utf8')).toContain('m-2,ben@example.com');
    expect(readFileSync(out, 'utf8')).not.toContain('ann@');
    expect(statSync(out).mode & 0o777).toBe(0o600);
  });
});

describe('an export', () => {
  it('writes into nothing that lay there before: no file that is open to all, and no link', async () => {
    const out = pathOf('closed.csv');
    writeFileSync(`${out}.partial`, 'of somebody');
    chmodSync(`${out}.partial`, 0o666);
    const others = openSync(`${out}.partial`, 'r');
    expect((await ops.run(['members', 'export', out, '--tenant', tenant])).code).toBe(0);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(readFileSync(others, 'utf8')).toBe('of somebody');
    closeSync(others);

    const precious = pathOf('precious');
    writeFileSync(precious, 'precious');
    symlinkSync(precious, `${out}.partial`);
    const refused = await ops.run(['members', 'export', out, '--tenant', tenant]);
    expect([refused.code, readFileSync(precious, 'utf8')]).toEqual([1, 'precious']);
    expect(refused.err).toContain('is a link, which is not followed');
  });

  it('leaves out and counts a member whose address nobody can read', async () => {
    await run(file('two.csv', 'member_id,email\na,a@example.com\nb,b@example.com\n'));
    const members = createMemberStore(ops.dynamodb, ops.tables.members, () => new Date());
    const [a, b] = await Promise.all(['a', 'b'].map((id) => members.read(tenant, id)));
    if (a === undefined || b === undefined) throw new Error('no members');
    await members.upsert([{ ...a, sealed_identity: b.sealed_identity }]);
    const path = pathOf('left.jsonl');
    const { code, out } = await ops.run(['members', 'export', path, '--tenant', tenant, '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([0, { members: 1, unreadable: 1 }]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ member_id: 'b' });
  });
});
