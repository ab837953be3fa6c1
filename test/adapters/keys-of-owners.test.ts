import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressShard, factsKey, memberKey, pointerKey } from '../../src/adapters/dynamodb/newsletter/member-items.ts';
import {
  fairGroup,
  providerSafeId,
  recipientBudget,
  recipientHash,
  sharedBudget,
  toTag,
} from '../../src/adapters/signing/hashed-ids.ts';
import { batchItemKey, createIdentities } from '../../src/application/requests/idempotency.ts';
import { providerKey } from '../../src/core/breaker/shared-breakers.ts';
import { retryLogId } from '../../src/core/delivery/retry-record.ts';
import { historyKeys, notificationKey } from '../../src/core/model/history-index.ts';
import { anyCharacter } from '../support/any-character.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';
import { dueRow } from '../support/rows.ts';
import '../support/seed.ts';

/** What belongs to somebody: `tenant` is the tenant, the others are names that it chooses. */
interface Owner {
  readonly tenant: string;
  readonly name: string;
  readonly more: string;
}

interface NamedKey {
  /** Where the name is made. */
  readonly at: string;
  /** What is named: keys of one store never meet, whoever made them. */
  readonly store: string;
  readonly key: (owner: Owner) => string | undefined;
  /** What tells two owners apart; those who share a thing by right are one owner. */
  readonly owner: (owner: Owner) => readonly string[];
}

const BREAKERS = 'src/core/breaker/shared-breakers.ts';
const HASHES = 'src/adapters/signing/hashed-ids.ts';
const MEMBERS = 'src/adapters/dynamodb/newsletter/member-items.ts';
const IDEMPOTENCY = 'src/application/requests/idempotency.ts';
const AT = new Date('2026-03-01T10:30:00.000Z');
const { identify, emailIdOf } = createIdentities('key');

const hook = ({ tenant, name, more }: Owner, integration?: string) =>
  dueRow({
    channel: 'webhook',
    tenant_id: tenant,
    provider_host: name,
    recipient_hash: more,
    ...(integration !== undefined && { integration_config_id: integration }),
  });

/** Every name of something that is stored, queued, cached, limited or locked, and that more than one owner could meet in. */
const KEYS: readonly NamedKey[] = [
  {
    at: BREAKERS,
    store: 'breaker',
    key: (o) => providerKey(hook(o)),
    owner: ({ tenant, name }) => ['host', tenant, name],
  },
  {
    at: BREAKERS,
    store: 'breaker',
    key: (o) => providerKey(hook(o, o.name)),
    // All who may use it meet at the URL that it says.
    owner: ({ name }) => ['integration', name],
  },
  {
    at: BREAKERS,
    store: 'breaker',
    key: (o) => providerKey(hook(o, o.name), 'recipient'),
    owner: ({ tenant, name }) => ['tenant of an integration', tenant, name],
  },
  {
    at: HASHES,
    store: 'budget',
    key: (o) => sharedBudget(hook(o, o.name))?.key,
    owner: ({ name }) => ['integration', name],
  },
  {
    at: HASHES,
    store: 'budget',
    key: (o) => recipientBudget(hook(o))?.key,
    owner: ({ tenant, more }) => ['recipient', tenant, more],
  },
  { at: HASHES, store: 'fair group', key: ({ tenant }) => fairGroup(tenant), owner: ({ tenant }) => [tenant] },
  { at: HASHES, store: 'webhook-id', key: ({ name }) => providerSafeId(name), owner: ({ name }) => [name] },
  {
    at: HASHES,
    store: 'recipient_hash',
    key: ({ tenant, name }) => recipientHash('key', tenant, name),
    owner: ({ tenant, name }) => [tenant, name.trim()],
  },
  {
    at: HASHES,
    store: 'tag',
    key: ({ name }) => toTag(name),
    owner: ({ name }) => [name],
  },
  {
    at: IDEMPOTENCY,
    store: 'log_id',
    key: ({ tenant, name }) => (name.includes(' ') ? undefined : identify(tenant, name, {}).logId(0)),
    owner: ({ tenant, name }) => ['server', tenant, name],
  },
  {
    at: IDEMPOTENCY,
    store: 'log_id',
    key: ({ tenant, name }) => (name.includes(' ') ? undefined : identify(tenant, name, {}, 'pages').logId(0)),
    owner: ({ tenant, name }) => ['page', tenant, name],
  },
  {
    at: IDEMPOTENCY,
    store: 'log_id',
    key: ({ tenant, name }) => (name.includes(' ') ? undefined : identify(tenant, batchItemKey(name, 2), {}).logId(0)),
    owner: ({ tenant, name }) => ['item', tenant, name],
  },
  {
    at: IDEMPOTENCY,
    store: 'email_id',
    key: ({ tenant, name }) => emailIdOf(tenant, name),
    owner: ({ tenant, name }) => [tenant, name],
  },
  {
    at: MEMBERS,
    store: 'members',
    key: ({ tenant, name }) => JSON.stringify(memberKey(tenant, '-hash', name)),
    owner: ({ tenant, name }) => ['member', tenant, name],
  },
  {
    at: MEMBERS,
    store: 'members',
    key: ({ tenant, name }) => JSON.stringify(pointerKey(tenant, name)),
    owner: ({ tenant, name }) => ['pointer', tenant, name],
  },
  {
    at: MEMBERS,
    store: 'members',
    key: ({ tenant }) => JSON.stringify(factsKey(tenant, '-hash')),
    owner: ({ tenant }) => ['facts', tenant],
  },
  {
    at: MEMBERS,
    store: 'partition of addresses',
    key: ({ tenant }) => addressShard(tenant, '-'),
    owner: ({ tenant }) => [tenant],
  },
  {
    at: 'src/core/model/history-index.ts',
    store: 'history index',
    key: ({ tenant }) => historyKeys({ log_id: 'n', tenant_id: tenant }, AT).tenant_created_at,
    owner: ({ tenant }) => [tenant],
  },
  {
    at: 'src/core/model/history-index.ts',
    store: 'notification index',
    key: ({ tenant, name }) => notificationKey(tenant, name, 0),
    owner: ({ tenant, name }) => [tenant, name],
  },
  {
    at: 'src/core/delivery/retry-record.ts',
    store: 'retry_log_id',
    key: ({ name }) => retryLogId(name, 2),
    owner: ({ name }) => [name],
  },
];

/** Characters that separate, escape or are replaced, their pairs, and what escapes look like. */
const PARTS = ['a', '_', '#', '@', '%', '東'];
const PAIRS = PARTS.flatMap((first) => PARTS.map((second) => first + second));
const WORDS = [...PARTS, ...PAIRS, '京', ' ', 'a a', '!', '%23', '%40', '%25', '#a@', '@#a'];

describe('a name', () => {
  it.each([...Map.groupBy(KEYS, ({ store }) => store)])('of a %s never stands for two owners', (_, keys) => {
    const met = new Map<string, string>();
    let named = 0;
    for (const tenant of WORDS)
      for (const name of WORDS)
        for (const more of ['a', '@'])
          for (const { key, owner } of keys) {
            const of = { tenant, name, more };
            const made = key(of);
            if (made === undefined) continue;
            const whose = JSON.stringify(owner(of));
            const before = met.get(made) ?? whose;
            if (before !== whose) expect.fail(`${made} stands for ${before} and for ${whose}`);
            met.set(made, whose);
            named += 1;
          }
    expect(named).toBeGreaterThan(WORDS.length);
  });

  it('differs where long texts of any characters differ in one', () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(text, text, anyCharacter, fc.nat(99), (first, second, other, at) => {
        const changed = [...first].with(at % [...first].length, other).join('');
        for (const { key, owner } of KEYS) {
          const [one, two] = [
            { tenant: first, name: second, more: 'h' },
            { tenant: changed, name: second, more: 'h' },
          ];
          const isSame = JSON.stringify(owner(one)) === JSON.stringify(owner(two));
          const made = [key(one), key(two)];
          if (made[0] !== undefined && made[1] !== undefined) expect(made[0] === made[1]).toBe(isSame);
        }
      }),
    );
  });

  it('that was made of an id is not the name of the id that looks like it', () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(text, fc.constantFrom(fairGroup, providerSafeId, toTag), (id, nameOf) => {
        const name = nameOf(id);
        expect(nameOf(name) === name).toBe(name === id);
      }),
    );
  });

  it('is taken by SQS as a fair group, and by receivers as webhook-id and tag', () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(text, (id) => {
        expect(fairGroup(id)).toMatch(/^[\x21-\x7e]{1,128}$/);
        expect(providerSafeId(id)).toMatch(/^[\w-]{1,256}$/);
        expect(toTag(id)).toMatch(/^[\w-]{1,256}$/);
      }),
    );
  });
});

/** Names whose parts the pipeline makes itself, or that say no more than a time or a shard. */
const OF_OUR_OWN = [
  'src/core/model/work-index.ts',
  // It spreads ids over the trace's bytes, and over time.
  'src/core/model/trace.ts',
  'src/core/intake/failed-send.ts',
  // The name of a budget is made in hashed-ids.ts.
  'src/core/pacing/receiver-pacer.ts',
  'src/adapters/dynamodb/pacing/pacing-store.ts',
  'src/core/monitor/monitor-figures.ts',
  // Findings about the stage's own network, key and topic.
  'src/application/preflight/platform.ts',
  // The tenant's part of the key is made in history-index.ts.
  'src/application/list-notifications.ts',
  'src/adapters/dynamodb/operator/index-queries.ts',
  'src/adapters/dynamodb/operator/newest-first.ts',
  'src/adapters/dynamodb/operator/notification-copies.ts',
  'src/adapters/dynamodb/operator/verify-reads.ts',
  'src/adapters/dynamodb/sweep/sweep-stores.ts',
  // A hash for the audit log, with the tenant in it.
  'src/application/chosen/correct.ts',
  // Placeholders of expressions.
  'src/adapters/dynamodb/table/writes.ts',
  'src/adapters/dynamodb/table/reads.ts',
  // A key's id holds no `#`, and the ids of emails, batches and audit records are ours.
  'src/adapters/dynamodb/intake/request-counts.ts',
  'functions/shared/api/api-function.ts',
  'src/adapters/dynamodb/newsletter/batch-store.ts',
  'functions/newsletter-events/handler.ts',
  'src/adapters/dynamodb/console/audit-log.ts',
  'src/adapters/sealing/sealer.ts',
  // A cell of an export.
  'src/adapters/member-files/own-format.ts',
  // Addresses.
  'src/core/newsletter/model/senders.ts',
  'src/adapters/email/address.ts',
  // Links, and colors of a style sheet.
  'src/adapters/content/addresses.ts',
  'src/adapters/metric-history/cloudwatch-history.ts',
  'src/adapters/post/mail-template.ts',
];

it('every file that puts a name together of several parts is in the table, or its parts are ours', () => {
  const composing = /\}[#@]|[#@]\$\{/;
  const files = ['src/core', 'src/application', 'src/adapters', 'functions'].flatMap((folder) =>
    readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  );
  const named = files.filter((file) =>
    readFileSync(join(PROJECT_ROOT, file), 'utf8')
      .split('\n')
      .some((line) => composing.test(line) && !/^\s*(\*|\/[/*])/.test(line)),
  );
  const known = new Set([...KEYS.map(({ at }) => at), ...OF_OUR_OWN]);
  expect(named.filter((file) => !known.has(file))).toEqual([]);
  expect([...known].filter((file) => !files.includes(file))).toEqual([]);
});
