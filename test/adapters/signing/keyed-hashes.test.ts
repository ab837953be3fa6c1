import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPageToken, signPageToken } from '../../../src/adapters/api-keys/page-token.ts';
import { keyedHash, recipientHash } from '../../../src/adapters/signing/hashed-ids.ts';
import { correctionHash } from '../../../src/application/chosen/correct.ts';
import { decideOnce } from '../../../src/application/console.ts';
import { createIdentities } from '../../../src/application/requests/idempotency.ts';
import type { KnownRequest } from '../../../src/core/operator/audit.ts';
import { PROJECT_ROOT } from '../../support/project-root.ts';

const EXPIRES = { key_id: '0123456789abcdef', expires_at: '2026-11-22T10:00:00.000Z' };
const request = (recipient: string): object => ({ channel: 'email', recipient, subject: 'Your bill', body: 'Text' });

/** What the server keeps or hands out of something with an address in it. A new one gets a line. */
const KEYED: Readonly<Record<string, (key: string, address: string) => string | Promise<string>>> = {
  'recipient_hash of a row': (key, address) => recipientHash(key, 'T', address),
  'request_hash of a notification': (key, address) =>
    createIdentities(key).identify('T', 'k', request(address)).request_hash,
  'request_hash of an email': (key, address) => createIdentities(key).requestHash({ subject: 'Hi', to: [address] }),
  'log_id of an idempotency key': (key, address) => createIdentities(key).identify('T', address, {}).logId(0),
  'email_id of an idempotency key': (key, address) => createIdentities(key).emailIdOf('T', address),
  'recipient of a token': (key, address) => recipientInToken(`the secret of the tokens of ${key}`, address),
  'hash of a corrected recipient in the audit log': (key, recipient) =>
    String(correctionHash(key, 'T', 'recipient', { recipient })),
  'fingerprint of a decision': (key, address) => fingerprintOf(key, { to: address }),
};

function recipientInToken(secret: string, recipient: string): string {
  const read = readPageToken(secret, signPageToken(secret, { ...EXPIRES, rights: { send: true, recipient } }, 'id'));
  if (read === undefined || !('send' in read.rights)) throw new Error('The token was not read.');
  return read.rights.recipient?.hash ?? '';
}

async function fingerprintOf(key: string, input: object): Promise<string> {
  let known: Omit<KnownRequest, 'answer'> | undefined;
  const audit = {
    begin: async (_: string, begun: Omit<KnownRequest, 'answer'>) => {
      known = begun;
      return undefined;
    },
    answer: async () => {},
    release: async () => {},
    takeOver: async () => true,
    write: async () => {},
    list: async () => ({ records: [] }),
  };
  const none = () => {};
  const deps = { audit, clock: () => new Date(0), newId: () => 'id', onRecord: none, onUnwritten: none };
  const asked = { caller: { who: 'me', role: 'operator' }, path: {}, input: { request_id: 'r', ...input } };
  const decision = { audit: { what: 'x', on: [] }, run: async () => ({ answer: {}, result: {} }) };
  await decideOnce(decision, 'POST /x', asked, { ...deps, hashKey: async () => key });
  return known?.fingerprint ?? '';
}

describe.each(Object.entries(KEYED))('the %s', (_, hash) => {
  it('recognises the same again, and tells addresses apart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.emailAddress(), fc.emailAddress(), async (one, other) => {
        fc.pre(one.toLowerCase() !== other.toLowerCase());
        expect(await hash('key', one)).toBe(await hash('key', one));
        expect(await hash('key', one)).not.toBe(await hash('key', other));
      }),
      { numRuns: 20 },
    );
  });

  // Whoever reads the tables has all that was hashed but the address: without a key, trying addresses finds it.
  it('cannot be computed without the key', async () => {
    const address = 'victim@example.com';
    expect(await hash('another key', address)).not.toBe(await hash('key', address));
  });
});

it('no hash of one use is one of another, nor a recipient’s', () => {
  const text = JSON.stringify(['T', 'a@example.com']);
  const hashes = ['ids', 'requests', 'decisions'].map((use) => keyedHash('key', use, text).toString('base64url'));
  hashes.push(recipientHash('key', 'T', 'a@example.com'));
  expect(new Set(hashes.map((hash) => hash.slice(0, 22))).size).toBe(hashes.length);
});

/** Where a hash has no key, and why none of them is of an address that only the hash would keep. */
const UNKEYED: Readonly<Record<string, string>> = {
  'src/adapters/api-keys/api-key.ts': 'the secret of an API key, 256 random bits',
  'src/adapters/direct-calls/sigv4.ts': 'the body of a request to AWS, which is signed and not kept',
  'src/adapters/dynamodb/newsletter/member-items.ts': 'a member_id, of which one character is beside the id itself',
  'src/adapters/eventbridge/outcome-bus.ts': 'ids and times of an outcome, which are beside it',
  'src/adapters/signing/hashed-ids.ts': 'log_ids, integrations and keyed hashes',
  'src/adapters/unsubscribe/unsubscribe-pages.ts': 'the style of the page',
  'src/cli/session/import-journal.ts': 'the names of files and options of an import, on the disk of its operator',
  'src/cli/commands/restore/restore.ts':
    'names of tables and the time of a restoration, in the name of a file on the disk',
  'src/cli/commands/verify/forget.ts': 'keyed hashes',
  'src/client/handover/item.ts':
    "a producer's item, in its own process, which has no key of the stage; the log_id of it is keyed",
  'src/client/spool/durable-files.ts': "the scope of a producer's spool, on its own disk",
  'src/client/spool/seal.ts': 'the key of a spool, to name it',
  'src/client/spool/spool-file.ts': "a file of a producer's spool, in the file",
  'src/client/spool/spool-lock.ts': 'process and time of a lock',
  'src/client/spool/spool.ts': "what a producer's file holds, in the name of its file",
  'src/http/kernel.ts': 'an answer, in a header beside it',
  'src/local/providers/respond.ts': 'a body that a simulated receiver shows as it is',
  'src/local/runtime/synthesize.ts': 'sources of this repository',
  'src/application/dead-groups.ts': 'reason, channel, integration and tenant of a group, beside it',
};

it('whatever is hashed without a key is named, with the reason why it is no address', () => {
  const sources = globSync(['src/**/*.ts', 'functions/**/*.ts', 'lib/**/*.ts'], { cwd: PROJECT_ROOT });
  const unkeyed = sources.filter((file) =>
    /import \{[^}]*\b(createHash|hash)\b[^}]*\} from 'node:crypto'/s.test(
      readFileSync(join(PROJECT_ROOT, file), 'utf8'),
    ),
  );
  expect(unkeyed.sort()).toEqual(Object.keys(UNKEYED).sort());
});
