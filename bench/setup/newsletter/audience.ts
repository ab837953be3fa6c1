import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { memberItem } from '../../../src/adapters/dynamodb/newsletter/member-items.ts';
import { createDataKeyStore } from '../../../src/adapters/dynamodb/sealing/data-key-store.ts';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import { createMemoryDataKeys } from '../../../src/adapters/memory/memory-data-keys.ts';
import { createMemberSealing } from '../../../src/adapters/recipient/member-sealing.ts';
import { createDataKeys, type KeyContext } from '../../../src/adapters/sealing/data-keys.ts';
import { createLocalKeyWrap } from '../../../src/adapters/sealing/local-key-wrap.ts';
import { createSealer } from '../../../src/adapters/sealing/sealer.ts';
import { MEMBER_STATUSES } from '../../../src/core/newsletter/model/member.ts';

export const TENANT = 'TENANT001';
export const NEWSLETTER = 'weekly';

/** Members as an import stores them, before there is a table to store them in. */
export interface Audience {
  /** The items that a preparation reads: without the pointers from member_id to address. */
  readonly items: () => AsyncGenerator<Item>;
  /** Stores the data keys that the items were sealed with. */
  readonly storeKeys: (client: DynamoDBClient, table: string) => Promise<void>;
}

/** @param secretsFile of the functions that read the members */
export function audienceOf(count: number, secretsFile: string): Audience {
  const secrets: Readonly<Record<string, string>> = JSON.parse(readFileSync(secretsFile, 'utf8'));
  const made: { readonly key: KeyContext; readonly wrapped: Uint8Array }[] = [];
  const memory = createMemoryDataKeys();
  const keys = createDataKeys({
    store: {
      find: (tenant_id, key_id) => memory.find(tenant_id, key_id),
      add(key, wrapped, at) {
        made.push({ key, wrapped });
        return memory.add(key, wrapped, at);
      },
    },
    wrap: createLocalKeyWrap(async () => Buffer.from(secrets['recipient_key'] ?? '', 'base64')),
    clock: () => new Date(),
  });
  const sealing = createMemberSealing(createSealer(keys), async () => secrets['recipient_hash_key'] ?? '');
  return {
    async *items() {
      const at = new Date().toISOString();
      for (let i = 0; i < count; i++) yield memberItem(await memberOf(i, at, sealing), Date.parse(at));
    },
    async storeKeys(client, table) {
      const store = createDataKeyStore(client, table);
      for (const { key, wrapped } of made) await store.add(key, wrapped, new Date());
    },
  };
}

/** Domains of mailboxes: a few of them hold most members. */
const DOMAINS = ['mail', 'mail', 'mail', 'post', 'post', 'inbox', 'office', 'school', 'works', 'home'];
const LETTERS = 'etaoinshrdlucmfwypvbgk';

/**
 * The same member for the same number, with an address, a name and ids that compress no better than those of people: the
 * size of what is stored decides what it costs.
 */
async function memberOf(i: number, at: string, sealing: ReturnType<typeof createMemberSealing>) {
  const bytes = createHash('sha256').update(String(i)).digest();
  const hex = bytes.toString('hex');
  const word = (from: number) =>
    [...bytes.subarray(from, from + 4 + ((bytes[from] ?? 0) % 5))]
      .map((byte) => LETTERS[byte % LETTERS.length])
      .join('');
  const [first, last] = [word(0), word(10)];
  const member_id = `M${bytes.readUInt32BE(20)}-${i}`;
  const email = `${first}.${last}${i % 97}@${DOMAINS[i % DOMAINS.length]}.example`;
  return {
    tenant_id: TENANT,
    member_id,
    member_uuid: [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join('-'),
    status: MEMBER_STATUSES[i % MEMBER_STATUSES.length] ?? 'free',
    labels: ['imported', i % 2 === 0 ? 'even' : 'odd'],
    newsletters: [NEWSLETTER],
    created_at: at,
    updated_at: at,
    email_hash: await sealing.emailHash(TENANT, email),
    sealed_identity: await sealing.sealMember(TENANT, member_id, { email, name: `${capital(first)} ${capital(last)}` }),
  };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
