import { PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Deployment } from '../../../../src/adapters/deployment/deployment.ts';
import { contentItem } from '../../../../src/adapters/dynamodb/delivery/content-items.ts';
import { fallbackAttributes } from '../../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../../../src/adapters/dynamodb/indexing/index-store.ts';
import { createIntakeStore } from '../../../../src/adapters/dynamodb/intake/intake-store.ts';
import { type Item, toForeignRow, toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { recipientHash } from '../../../../src/adapters/signing/hashed-ids.ts';
import { memberAccess } from '../../../../src/application/members/members.ts';
import { indexRow } from '../../../../src/core/indexing/index-row.ts';
import { accept } from '../../../../src/core/intake/accept.ts';
import { type ForeignRow, SEALED } from '../../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { intakeRequest, memoryIntake } from '../../../support/api/intake.ts';
import {
  deadRow,
  HASH_KEY,
  type Operations,
  startOperations,
  stoppedRow,
  storedRow,
} from '../../../support/cli/operations.ts';

const ANN = 'Ann.Smith@Example.com';
const TENANT = 'tenant-1';
const EXPIRES = Math.floor(Date.now() / 1000) + 86_400;
const longAgo = new Date(Date.now() - 120_000).toISOString();

let ops: Operations;
let now: number;
/** What happens while the command waits. */
let meanwhile: () => Promise<unknown>;
beforeEach(async () => {
  ops = await startOperations();
  now = Date.now();
  meanwhile = async () => {};
}, 60_000);
afterEach(() => ops?.stop());

const sealer = () => ops.deployment.sealer(ops.dynamodb);
const put = (TableName: string, item: object) =>
  ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(item) }));

type Named = { readonly log_id: string; readonly tenant_id: string };

/** A row with its content, as the indexer leaves them. */
async function notify(row: Named & ForeignRow, recipient = ANN, fallback?: string) {
  const { log_id, tenant_id } = row;
  const text = `Dear ${recipient}`;
  const content = { recipient, subject: text, body: text, format: 'PLAIN' } as const;
  const more = fallback && (await fallbackAttributes(row, { recipient: fallback }, sealer(), async () => HASH_KEY));
  const item = await contentItem(sealer(), { log_id, tenant_id, expires_at: EXPIRES }, content, more || {});
  await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item: item }));
  await ops.put({ ...row, recipient_hash: recipientHash(HASH_KEY, tenant_id, recipient) });
}

const record = (original_log_id: string, retry_attempt: number, retry_status = 'FAILED') =>
  put(ops.tables.notification_retry_log, {
    original_log_id,
    retry_attempt,
    retry_status,
    response_code: '550',
    response_message: `no ${ANN}`,
    error_details: JSON.stringify({ to: ANN }),
  });

const forget = (input: string, ...args: string[]) => forgetOn(ops.deployment, input, ...args);

async function forgetOn(deployment: Deployment, input: string, ...args: string[]) {
  const pause = async (ms: number) => {
    now += ms;
    await meanwhile();
  };
  const line = ['forget', '--tenant', TENANT, '--recipient', '-', '--json', '--local', ...args];
  const findDeployment = async () => deployment;
  const { code, out, err } = await ops.run(line, { input, clock: () => new Date(now), pause, findDeployment });
  if (out === '') throw new Error(err);
  return { code, err, ...JSON.parse(out) };
}

/** The deployment whose requests to DynamoDB go through `handle`. */
function reachedBy(handle: typeof ops.dynamodb.config.requestHandler.handle): Deployment {
  const { dynamodb, ...clients } = ops.deployment.clients;
  const { requestHandler } = ops.dynamodb.config;
  const { metadata } = requestHandler;
  return {
    ...ops.deployment,
    clients: {
      ...clients,
      dynamodb: { ...dynamodb, requestHandler: { ...(metadata && { metadata }), handle, destroy() {} } },
    },
  } as Deployment;
}

async function verified() {
  const pause = async (ms: number) => {
    now += ms;
  };
  const { out } = await ops.run(['verify', '--json', '--local'], { clock: () => new Date(now), pause });
  return JSON.parse(out);
}

/** All that the tables hold, with every sealed field opened. */
async function everything(): Promise<string> {
  const texts: string[] = [];
  for (const [role, TableName] of Object.entries(ops.tables)) {
    const { Items = [] } = await ops.dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }));
    for (const item of Items.filter(({ tenant_id }) => tenant_id?.S !== 'T2'))
      texts.push(JSON.stringify(toForeignRow(item)), ...(await opened(role, item)));
  }
  return texts.join('\n').toLowerCase();
}

async function opened(role: string, item: Item): Promise<string[]> {
  const tenant_id = item['tenant_id']?.S ?? '';
  const open = (purpose: (typeof SEALED)[keyof typeof SEALED], id: string, sealed = '') =>
    sealed === '' ? '' : sealer().open({ tenant_id, purpose, id }, sealed);
  if (role === 'members') return [await open(SEALED.members, item['member_id']?.S ?? '', item['sealed_identity']?.S)];
  if (role !== 'notification_content') return [];
  const id = item['log_id']?.S ?? '';
  return [
    await open(SEALED.recipients, id, item['encrypted_recipient']?.S),
    await open(SEALED.recipients, `${id}-fallback`, item['encrypted_fallback_recipient']?.S),
  ];
}

/** Each state that a notification can be in, and whatever else names Ann. */
async function putWorld(): Promise<void> {
  const { work_queue: _, ...delivered } = storedRow('delivered', {
    send_status: 'SUCCESS',
    last_attempt: 1,
    claim_id: '',
    response_message: `250 ${ANN} ok`,
  });
  await notify(delivered);
  await record('delivered', 1, 'SUCCESS');
  await notify(storedRow('waiting', { error_message: `451 ${ANN} busy`, note: { for: ANN.toLowerCase() } }));
  await notify(
    deadRow('dead', { work_at: longAgo, send_attempts: 1, last_attempt: 0, error_message: `550 ${ANN}` }),
    'ann.smith@EXAMPLE.com ',
  );
  const dead_letter = { version: 1, tenant_id: TENANT, channel: 'webhook', priority: 'normal', log_id: 'dead' };
  await ops.sendDeadLetter('webhook', { ...dead_letter, due: longAgo, run_id: 'sweep-dead' });
  const claim_until = new Date(now - 5_000).toISOString();
  await notify(storedRow('abandoned', { send_status: 'SENDING', claim_id: 'c', claim_until, last_attempt: 1 }));
  await notify({ ...stoppedRow('stopped'), send_attempts: 1, last_attempt: 0 });
  const inline = { recipient_address: `  ${ANN}`, subject: 'Hi', message_body: `Dear ${ANN}`, message_format: 'PLAIN' };
  await ops.put({ log_id: 'foreign', tenant_id: TENANT, notification_type: 'EMAIL', send_status: 'FAILED', ...inline });
  await notify(storedRow('other-falls-back', { fallback_channel: 'email' }), 'https://bob.example/hook', ANN);
  await notify(storedRow('bob'), 'bob@example.com');
  await notify(storedRow('other-tenant', { tenant_id: 'T2' }));
  const { members, sealing } = memberAccess({ ...ops, clock: () => new Date(now), newId: () => 'x' } as never);
  const email_hash = await sealing.emailHash(TENANT, ANN);
  for (const member_id of ['m-1', 'm-2']) {
    const identity = { email: ANN, name: 'Ann Smith' };
    const sealed_identity = await sealing.sealMember(TENANT, member_id, identity);
    const common = { member_uuid: `u-${member_id}`, status: 'free', labels: [], newsletters: ['weekly'] } as const;
    const member = { tenant_id: TENANT, member_id, ...common, created_at: longAgo, updated_at: longAgo };
    await members.upsert([{ ...member, email_hash, sealed_identity }]);
  }
  await members.suppress(TENANT, email_hash, { reason: 'operator', at: longAgo });
}

describe('ops forget', () => {
  it('erases a recipient everywhere, cancels what is still to be sent, and keeps the sums', async () => {
    await putWorld();
    const before = await verified();
    // The row that nobody has taken in yet.
    expect(before.violations.map(({ log_id }: { log_id: string }) => log_id)).toEqual(['foreign', 'foreign']);
    expect(before).toMatchObject({ lost: 1, accepted: 9 });
    expect(await forget(ANN, '--dry-run')).toMatchObject({
      code: 0,
      dry_run: true,
      members: 2,
      fallbacks: 1,
      notifications: { delivered: 1, due: 1, dead: 1, abandoned: 1, stopped: 1, not_taken_in: 1 },
    });
    const unchanged = await everything();
    expect(unchanged.split('\n').filter((line) => line.includes('ann.smith')).length).toBeGreaterThan(15);

    const done = await forget(`${ANN.toUpperCase()}\n`);
    expect(done).toMatchObject({
      code: 0,
      notifications: { erased: 3, cancelled: 3 },
      members: 2,
      fallbacks: 1,
      left: 0,
    });
    expect((await everything()).split('\n').filter((line) => /ann.smith/.test(line))).toEqual([]);
    expect(JSON.stringify(done).toLowerCase()).not.toContain('ann.smith');
    expect(await ops.row('waiting')).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'CANCELLED',
      is_deleted: true,
    });
    expect(await ops.row('dead')).toMatchObject({
      failure_reason: 'MAX_RETRIES',
      work_queue: expect.stringMatching(/^dead/),
    });
    expect(await ops.row('bob')).not.toHaveProperty('erased_at');
    expect(await ops.row('other-falls-back')).toMatchObject({
      send_status: 'FAILED',
      work_queue: expect.stringMatching(/^due/),
    });

    expect(await verified()).toMatchObject({
      violated: 0,
      accepted: 9,
      erased: 6,
      accounts: { delivered: 1, dead: 1, cancelled: 3 },
    });
    // The row that nobody had taken in has no hash.
    expect(await forget(ANN)).toMatchObject({ code: 0, notifications: { already: 5 }, records: 0, members: 0 });
  }, 60_000);

  it('writes down who did it, and neither the address nor its hash', async () => {
    await notify(storedRow('waiting'));
    await forget(ANN);
    const { entries } = await ops.json<{ entries: object[] }>('audit');
    expect(entries).toMatchObject([{ what: 'forget', on: [TENANT], result: { cancelled: 1 } }]);
    expect(JSON.stringify(entries)).not.toContain(recipientHash(HASH_KEY, TENANT, ANN));
  });

  it('lets an attempt end that is under way, which is the last one', async () => {
    const claimed = {
      send_status: 'SENDING' as const,
      claim_id: 'c',
      last_attempt: 1,
      claim_until: new Date(now + 60_000).toISOString(),
    };
    await notify(storedRow('claimed', claimed));
    let told = false;
    meanwhile = async () => {
      if (told) return;
      told = true;
      expect(await ops.row('claimed')).toMatchObject({ send_status: 'SENDING', is_deleted: true });
      // Refused: its worker settles it as due again, and says what the provider said.
      const row = await ops.row('claimed');
      await record('claimed', 1);
      await ops.put({ ...row, send_status: 'RETRY', claim_until: '', claim_id: '', error_message: `451 ${ANN}` });
    };
    expect(await forget(ANN)).toMatchObject({ code: 0, notifications: { cancelled: 1 }, records: 1, left: 0 });
    expect(await everything()).not.toContain('ann.smith');
  });

  it('is not undone by an image of the stream that the indexer reads late, nor by its writer', async () => {
    const inline = { recipient_address: ANN, message_body: 'x', message_format: 'PLAIN', notification_type: 'EMAIL' };
    const foreign = { log_id: 'late', tenant_id: TENANT, send_status: 'FAILED', ...inline };
    await ops.put(foreign);
    await forget(ANN);
    const tables = ops.tables;
    const store = createIndexStore({ client: ops.dynamodb, tables, sealer: sealer(), hashKey: async () => HASH_KEY });
    const deps = { store, policy: DEFAULT_RETRY_POLICY, clock: () => new Date(now) };
    expect(await indexRow({ row: foreign, sequence: '1' }, deps)).toMatchObject({ outcome: 'outdated' });
    expect(await everything()).not.toContain('ann.smith');
    // Its writer replaces the row: nothing is stored under this id any more, and the row says why.
    await ops.put(foreign);
    expect(await indexRow({ row: foreign, sequence: '2' }, deps)).toMatchObject({ outcome: 'set_aside' });
    expect(await ops.row('late')).toMatchObject({
      failure_reason: 'FORMAT_ERROR',
      error_message: expect.stringContaining('erased'),
    });
    expect(await everything()).not.toContain('ann.smith');
  });

  it('stores nothing anew for a request that died, when its producer repeats it', async () => {
    const { tables, dynamodb: client } = ops;
    const store = createIntakeStore({ client, tables, sealer: sealer(), hashKey: async () => HASH_KEY });
    const request = intakeRequest('key-1', { recipient: ANN, channel: 'email' });
    const intake = { ...memoryIntake().deps, store, clock: () => new Date(now) };
    const dying = { ...store, putRow: () => Promise.reject(new Error('died')) };
    await expect(accept(request, { ...intake, store: dying })).rejects.toThrow('died');
    expect(await forget(ANN)).toMatchObject({ code: 0, contents_without_row: 1, left: 0 });
    const log_id = request.logId(0);
    expect(await accept(request, intake)).toEqual({ log_id, status: 'processing', repeat: true });
    expect(await everything()).not.toContain('ann.smith');
    expect(await forget(ANN)).toMatchObject({ contents_without_row: 0, notifications: {} });
  });

  it('goes on where it was killed', async () => {
    for (let i = 0; i < 12; i += 1) await notify(storedRow(`n-${i}`));
    const { requestHandler } = ops.dynamodb.config;
    for (let died = 3, ended = false; !ended; died += 7) {
      let calls = 0;
      const dying = async (...args: Parameters<typeof requestHandler.handle>) => {
        calls += 1;
        if (calls > died) throw new Error('killed');
        return requestHandler.handle(...args);
      };
      ended = await forgetOn(reachedBy(dying), ANN).then(
        () => true,
        () => false,
      );
      expect(died).toBeLessThan(300);
    }
    expect(await everything()).not.toContain('ann.smith');
    expect(await verified()).toMatchObject({ accepted: 12, violated: 0, erased: 12 });
  }, 60_000);

  it('calls without the middleware of the SDK for each of many whose fallback the recipient is', async () => {
    const { requestHandler } = ops.dynamodb.config;
    for (let i = 0; i < 30; i += 1) await notify(storedRow(`n-${i}`), 'other@example.com', ANN);
    const updates: boolean[] = [];
    const deployment = reachedBy(async (...args: Parameters<typeof requestHandler.handle>) => {
      const [{ headers }] = args;
      // Of the SDK each request has an id.
      if (headers['x-amz-target']?.endsWith('UpdateItem')) updates.push('amz-sdk-invocation-id' in headers);
      return requestHandler.handle(...args);
    });
    expect(await forgetOn(deployment, ANN)).toMatchObject({ code: 0, fallbacks: 30 });
    // The first of each segment, by which the client learns where the service is.
    expect(updates.filter(Boolean).length).toBeLessThanOrEqual(4);
    expect(updates).toHaveLength(30);
    expect(await everything()).not.toContain('ann.smith');
  });

  it.each(['ann@example.com', '--recipient=x'])('takes the address from stdin alone: not %s', async (recipient) => {
    const { code, err } = await ops.run(['forget', '--tenant', TENANT, '--recipient', recipient, '--local'], {
      input: 'x',
    });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('stdin') });
  });
});
