import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseSegment } from '../../src/adapters/nql/parse-segment.ts';
import { segmentMatcher } from '../../src/core/newsletter/audience/segment.ts';
import type { SegmentSubject } from '../../src/core/newsletter/model/member.ts';
import { hasTool, NODE_TOOLS } from '../support/tools/tools.ts';

/** Expressions of which Ghost's own filters select members from a database: NQL to a query by mongo-knex, run by SQLite. */
const EXPRESSIONS = 4_000;
/** Where Ghost's selection is another one, and why ours is right. */
const RECORDED = [
  {
    expressions: /\b(label|newsletter):-~/,
    why: 'of a part that is not in a label, Ghost selects who has another label beside, which is nearly everybody',
  },
];
const NOW = new Date('2026-03-31T12:00:00.000Z');

const NQL = join(NODE_TOOLS, '@tryghost', 'nql');
const VALUES = ['vip', 'press', 'VIP', 'new york', "o'neill", '100%', 'a_b', 'back\\slash', '007', 'müller'];
const NEWSLETTERS = ['weekly', 'daily', 'dev'];

interface Query {
  toSQL(): { readonly sql: string; readonly bindings: readonly (string | number)[] };
}

/** A quote is escaped; a backslash is itself, and cannot be the last sign. */
const text = (value: string) => `'${value.replaceAll("'", "\\'").replace(/\\$/, '')}'`;
const set = (values: fc.Arbitrary<string>) => fc.array(values, { minLength: 1, maxLength: 3 }).map((all) => `[${all}]`);
const quotedOf = (values: readonly string[]) => fc.constantFrom(...values).map(text);

/** The whole value, one of several, or a part of it. */
function texts(field: string, values: readonly string[]): fc.Arbitrary<string> {
  const part = fc
    .tuple(fc.constantFrom('~', '~^', '~$'), fc.constantFrom(...values), fc.nat(3), fc.nat(3))
    .map(([sign, value, from, to]) => `${sign}${text(value.slice(from % value.length).slice(0, to + 1))}`);
  const not = fc.constantFrom('', '-');
  return fc
    .tuple(not, fc.oneof(quotedOf(values), set(quotedOf(values)), part))
    .map(([sign, one]) => `${field}:${sign}${one}`);
}

const time = fc.oneof(
  fc.constantFrom("'2026-01-31'", "'2025-12-31 23:59:59'", "'2026-03-01 00:00:00'"),
  fc
    .tuple(fc.constantFrom('-', '+'), fc.nat(400), fc.constantFrom('s', 'm', 'h', 'd', 'w', 'M', 'y'))
    .map(([sign, amount, unit]) => `now${sign}${unit === 'y' ? amount % 5 : amount}${unit}`),
);
const comparison = fc.oneof(
  texts('label', VALUES),
  texts('newsletter', NEWSLETTERS),
  texts('member_id', ['m-1', 'm-12', 'M-3', 'shop-7']),
  fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(fc.constantFrom('free', 'paid', 'comped'), set(fc.constantFrom('free', 'paid'))),
    )
    .map(([not, value]) => `status:${not}${value}`),
  fc.tuple(fc.constantFrom('>', '>=', '<', '<='), time).map(([sign, value]) => `created_at:${sign}${value}`),
);
/** Up to three, in brackets or not: "and" binds before "or". */
const joined = (one: fc.Arbitrary<string>, least: number) =>
  fc
    .array(fc.tuple(fc.constantFrom('+', ','), one), { minLength: least, maxLength: 3 })
    .map((all) => all.flatMap(([sign, part], i) => (i === 0 ? [part] : [sign, part])).join(''));
const group = joined(comparison, 2).map((all) => `(${all})`);
const expression = joined(fc.oneof(comparison, comparison, group), 1);

function membersOf(count: number): readonly SegmentSubject[] {
  const some = (values: readonly string[], seed: number) => values.filter((_, i) => ((seed >> i) & 1) === 1);
  return Array.from({ length: count }, (_, i) => ({
    member_id: ['m-', 'M-', 'shop-'][i % 3] + String(i),
    status: (['free', 'paid', 'comped'] as const)[i % 3] ?? 'free',
    labels: some(VALUES, (i * 37) % 1_024),
    newsletters: some(NEWSLETTERS, i % 8),
    // Whole seconds, as Ghost stores them.
    created_at: new Date(NOW.getTime() - i * i * 100_000_000 + (i % 5) * 1_000).toISOString(),
  }));
}

/** The tables that Ghost's filters ask. */
function database(members: readonly SegmentSubject[]): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  db.exec(`
    CREATE TABLE members (id INTEGER, member_id TEXT, status TEXT, created_at TEXT);
    CREATE TABLE labels (id INTEGER, name TEXT); CREATE TABLE members_labels (member_id INTEGER, label_id INTEGER);
    CREATE TABLE newsletters (id INTEGER, name TEXT); CREATE TABLE members_newsletters (member_id INTEGER, newsletter_id INTEGER);
  `);
  const tables = { label: VALUES, newsletter: NEWSLETTERS } as const;
  for (const [name, values] of Object.entries(tables))
    for (const [i, value] of values.entries()) db.prepare(`INSERT INTO ${name}s VALUES (?, ?)`).run(i, value);
  for (const [id, { member_id, status, created_at, labels, newsletters }] of members.entries()) {
    db.prepare('INSERT INTO members VALUES (?, ?, ?, ?)').run(
      id,
      member_id,
      status,
      created_at.slice(0, 19).replace('T', ' '),
    );
    for (const label of labels) db.prepare('INSERT INTO members_labels VALUES (?, ?)').run(id, VALUES.indexOf(label));
    for (const one of newsletters)
      db.prepare('INSERT INTO members_newsletters VALUES (?, ?)').run(id, NEWSLETTERS.indexOf(one));
  }
  return db;
}

const relation = (name: string) => ({
  tableName: `${name}s`,
  type: 'manyToMany',
  joinTable: `members_${name}s`,
  joinFrom: 'member_id',
  joinTo: `${name}_id`,
});
const OPTIONS = {
  relations: { labels: relation('label'), newsletters: relation('newsletter') },
  expansions: [
    { key: 'label', replacement: 'labels.name' },
    { key: 'newsletter', replacement: 'newsletters.name' },
  ],
};

describe.skipIf(!hasTool('Ghost’s NQL', NQL))('segments', { timeout: 240_000 }, () => {
  beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }));
  afterAll(() => void vi.useRealTimers());

  it('select whom Ghost’s filters select', async () => {
    const load = createRequire(join(NQL, 'package.json'));
    const nql: (text: string, options: object) => { querySQL(query: unknown): Query } = load('@tryghost/nql');
    const knex: (options: object) => (table: string) => { select(column: string): unknown } = createRequire(
      join(NODE_TOOLS, 'knex', 'package.json'),
    )('knex');
    const build = knex({ client: 'better-sqlite3', useNullAsDefault: true });
    const members = membersOf(60);
    const db = database(members);
    const bySql = (expressionText: string) => {
      const { sql, bindings } = nql(expressionText, OPTIONS).querySQL(build('members').select('members.id')).toSQL();
      return db
        .prepare(sql)
        .all(...bindings)
        .map(({ id }) => Number(id))
        .sort((a, b) => a - b);
    };
    const differences = new Map<string | undefined, string[]>();
    const selected = new Set<string>();
    for (const one of fc.sample(expression, { numRuns: EXPRESSIONS, seed: 1 })) {
      const matches = segmentMatcher(await parseSegment(one), NOW);
      const ours = members.flatMap((member, i) => (matches(member) ? [i] : [])).join();
      selected.add(ours);
      if (bySql(one).join() === ours) continue;
      const why = RECORDED.find(({ expressions }) => expressions.test(one))?.why;
      differences.set(why, [...(differences.get(why) ?? []), one]);
    }
    expect(differences.get(undefined) ?? []).toEqual([]);
    expect([...differences.keys()]).toEqual(RECORDED.map(({ why }) => why));
    expect(selected.size).toBeGreaterThan(1_000);
  });
});
