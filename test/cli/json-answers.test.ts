import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAuditLog } from '../../src/adapters/dynamodb/console/audit-log.ts';
import { contentItem } from '../../src/adapters/dynamodb/delivery/content-items.ts';
import { emailAccess } from '../../src/application/emails/email-access.ts';
import { historyKeys } from '../../src/core/model/history-index.ts';
import type { ForeignRow, NotificationRow } from '../../src/core/model/notification.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { startLoopback } from '../support/loopback.ts';
import { batchRow, chunkState, emailContent, emailRow, recipient } from '../support/newsletter/job-rows.ts';
import { dueRow, messageFor } from '../support/rows.ts';

/**
 * What every command answers with `--json` in one world at one moment, byte by byte: scripts of operators read it.
 * `npx vitest run test/cli/json-answers.test.ts -u` writes the file; a line that changes there changes a contract.
 */
const ANSWERS = './json-answers.txt';
const NOW = new Date('2026-03-05T12:00:00.000Z');
const before = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000).toISOString();
const DAYS_AGO = before(60 * 24 * 4);

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
  await seed();
}, 60_000);
afterAll(() => ops?.stop());

function row(log_id: string, minutes: number, changes: Partial<NotificationRow> & ForeignRow = {}) {
  const created = new Date(before(minutes));
  const made = dueRow({ log_id, work_at: before(minutes), first_attempt_at: before(minutes), ...changes });
  return { ...made, ...historyKeys(made, created), updated_at: before(minutes), ...changes };
}

function dead(log_id: string, minutes: number, changes: Partial<NotificationRow> & ForeignRow = {}) {
  return row(log_id, minutes, {
    send_status: 'FAILED',
    send_attempts: 6,
    attempts_left: 0,
    last_attempt: 5,
    error_type: 'SERVER_OVERLOAD',
    error_message: 'someone@example.com answered 503',
    failure_reason: 'MAX_RETRIES',
    work_queue: workQueueOf('dead', changes.priority ?? 'normal', log_id),
    dead_message_id: `dead-${log_id}`,
    dead_run_id: `sweep-${log_id}`,
    ...changes,
  });
}

function stopped(log_id: string, minutes: number, failure_reason: 'CANCELLED' | 'INVALID_RECIPIENT') {
  const { work_queue: _, dead_message_id: __, dead_run_id: ___, ...rest } = dead(log_id, minutes);
  return { ...rest, failure_reason };
}

async function die(log_id: string, minutes: number, changes: Partial<NotificationRow> = {}) {
  const made = dead(log_id, minutes, changes);
  const body = messageFor(made, { run_id: made.dead_run_id ?? '', due: before(minutes) });
  await ops.put({ ...made, dead_message_id: await ops.sendDeadLetter(made.channel, body) });
}

async function seed() {
  await ops.put(
    row('due-1', 5),
    row('due-2', 90, { priority: 'urgent', tenant_id: 'tenant-2', scheduled_at: before(100) }),
    row('waiting', 3, { send_status: 'RETRY', error_type: 'NETWORK_TIMEOUT', work_at: before(-7), retry_count: 1 }),
    row('sending', 4, { send_status: 'SENDING', claim_until: before(-1) }),
    row('sent', 6, { send_status: 'SUCCESS', sent_at: before(2), send_attempts: 3 }),
    row('old', 60 * 50, { channel: 'slack', integration_config_id: 'INT1' }),
    stopped('stopped', 7, 'INVALID_RECIPIENT'),
    stopped('cancelled', 8, 'CANCELLED'),
    dead('dead-old', 60 * 40, { integration_config_id: 'INT1' }),
  );
  await die('dead-1', 30, { integration_config_id: 'INT1' });
  await die('dead-2', 20, { channel: 'email', error_type: 'AUTH_FAILED', failure_reason: 'AUTH_FAILED' });
  await ops.sendDeadLetter('webhook', 'not ours');
  const owner = { log_id: 'cancelled', tenant_id: 'tenant-1', expires_at: 2 ** 31 };
  const content = { recipient: 'https://example.com/hook', subject: 'One', body: 'Text', format: 'PLAIN' } as const;
  const Item = await contentItem(ops.deployment.sealer(ops.dynamodb), owner, content);
  await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item }));
  const log = createAuditLog(ops.dynamodb, ops.tables.audit, () => NOW);
  const entry = { who: 'ann', role: 'operator', what: 'retry', on: ['NL1', 'NL2'], targets: 7, request_id: 'r-1' };
  await log.write({ ...entry, audit_id: 'a-1', at: before(60 * 24 * 2), result: { queued: 6, not_found: 1 } });
  await log.write({ ...entry, audit_id: 'a-2', at: before(60 * 24), what: 'cancel', on: ['NL3'], targets: 1 });
  const { deployment, dynamodb, sqs } = ops;
  const access = emailAccess({ deployment, dynamodb, sqs, clock: () => NOW, newId: () => 'seed' });
  const newsletter = { tenant_id: 'T1', newsletter_id: 'weekly', name: 'Weekly', from: 'n@example.com' };
  await access.newsletters.put({ ...newsletter, created_at: before(9_000), updated_at: before(9_000) });
  for (const [n, status] of (['failed', 'submitted', 'submitting', 'pending'] as const).entries()) {
    const email_id = `mail-${status}`;
    const prepared = { recipients: 2, excluded: 0, excluded_by_reason: {}, batches: 1, at: before(50 - n) };
    const common = { email_id, tenant_id: 'T1', created_at: before(50 - n), updated_at: before(50 - n) };
    await access.emails.create(emailRow({ ...common, newsletter_id: 'weekly', status, prepared }), emailContent());
    const counts = { pending: 0, submitted: 0, excluded: 0, failed: 1, uncertain: 1 };
    await access.batches.put(batchRow({ ...common, status: 'failed', counts }));
    const place = { email_id, batch_id: '00000', chunk: 0 };
    const state = chunkState('uf', place);
    await access.chunks.put([
      { chunk: { ...place, tenant_id: 'T1', recipients: [recipient(0), recipient(1)] }, state },
    ]);
  }
}

/** Ids that are drawn, and times of the queues, which have their own clock: numbered as they come. */
function numbered() {
  const known = new Map<string, string>();
  const number = (found: string, name: string) => {
    if (!known.has(found)) known.set(found, `<${name} ${known.size + 1}>`);
    return known.get(found) ?? '';
  };
  return (text: string) =>
    text
      .replace(/(?<="sent_at":")[^"]+(?=","state")/g, (found) => number(found, 'queued'))
      .replace(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g, (found) => number(found, 'id'))
      .replace(/(?<="key_id":"|"on":\["(?:\w+",")?|keys \w+ )[\da-f]{16}(?=["\s])/g, (found) => number(found, 'key_id'))
      .replace(/(?<="key":")[^"]+/g, (found) => number(found, 'key'))
      .replace(/\bop-[\w-]+/g, (found) => number(found, 'operation'))
      .replace(/(?<="who":")(?!ann")[^"]+/g, '<operator>')
      .replace(/\bid-\d+/g, '<new id>');
}

it('every command answers `--json` in the same form as ever', async () => {
  const lambda = await startLoopback();
  const counts = { scanned: 250, missed: 2, taken_in: 1, set_aside: 1, failed: 0 };
  lambda.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(counts));
  };
  const { region, credentials } = ops.deployment.clients.sqs;
  const client = { endpoint: lambda.url, ...(region && { region }), ...(credentials && { credentials }) };
  const deployment = {
    ...ops.deployment,
    reconciler: 'the-reconciler',
    clients: { ...ops.deployment.clients, lambda: client },
  };
  const readable = numbered();
  const written: string[] = [];
  let serial = 0;
  // In order: entries of one moment are listed by their ids.
  const newId = () => `id-${String(++serial).padStart(6, '0')}`;
  const answer = async (...args: string[]) => {
    const findDeployment = async () => deployment;
    const { code, out, err } = await ops.run([...args, '--local', '--json'], {
      clock: () => NOW,
      newId,
      findDeployment,
    });
    for (const [hint] of err.matchAll(/npm run ops -- [^`\n]*/g)) expect(hint).toContain('--local');
    const said = code === 0 ? '' : err;
    const line = args.join(' ').replaceAll(ops.directory, 'DIR');
    const answered = out === '' ? undefined : JSON.parse(out);
    written.push(readable(`$ ops ${line}\nexit ${code}\n${JSON.stringify(answered, inOrder) ?? ''}\n${said}`));
    return answered;
  };
  const file = (name: string, text: string) => {
    const path = join(ops.directory, name);
    writeFileSync(path, text);
    return path;
  };
  try {
    await reads(answer);
    await changes(answer, file);
  } finally {
    await lambda.close();
  }
  await expect(written.join('\n')).toMatchFileSnapshot(ANSWERS);
}, 120_000);

/** DynamoDB keeps no order of a map's keys. */
function inOrder(_: string, value: unknown): unknown {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

type Answer = (...args: string[]) => Promise<Record<string, string>>;

async function reads(answer: Answer) {
  await answer('status');
  await answer('sweeps');
  await answer('audit', '--from', DAYS_AGO);
  await answer('audit', '--from', DAYS_AGO, '--what', 'cancel', '--limit', '1');
  const { next_cursor = '' } = await answer('list', '--limit', '2');
  await answer('list', '--limit', '20', '--cursor', next_cursor);
  await answer('list', '--status', 'due', '--cursor', next_cursor);
  await answer('list', '--cursor', 'none');
  await answer('list', '--status', 'dead');
  await answer('list', '--status', 'dead', '--limit', '1');
  await answer('list', '--status', 'dead', '--to', before(60 * 24));
  for (const status of ['unfinished', 'due', 'waiting', 'in_flight'])
    await answer('list', '--status', status, '--from', before(60));
  await answer('list', '--status', 'FAILED', '--error-type', 'AUTH_FAILED', '--from', DAYS_AGO);
  await answer('list', '--tenant', 'tenant-2', '--scheduled-from', before(120), '--priority', 'urgent');
  await answer('list', '--sent-from', before(10), '--attempts', '2-4');
  await answer('list', '--from', DAYS_AGO, '--integration', 'INT1', '--channel', 'slack');
  await answer('list', '--from', before(60), '--to', before(120));
  await answer('show', 'dead-1');
  await answer('show', 'unknown');
  await answer('dlq', 'list', '--channel', 'email');
  await answer('dlq', 'list', '--channel', 'slack');
  await answer('dlq', 'show', 'dead-1');
  await answer('dlq', 'show', 'sent');
  await answer('dlq', 'show', 'unknown');
  await answer('emails', 'list', '--tenant', 'T1');
  await answer('emails', 'list', '--tenant', 'T1', '--limit', '1');
  await answer('emails', 'status', 'mail-failed');
  await answer('emails', 'status', 'unknown');
  await answer('emails', 'recipients', 'mail-failed');
  await answer('emails', 'recipients', 'mail-failed', '--state', 'uncertain', '--addresses');
  await answer('reconcile', '--dry-run');
  await answer('replay', '--dry-run', '--include-stopped');
}

async function changes(answer: Answer, file: (name: string, text: string) => string) {
  const his = { id: 'his-1', notification_type: 'SLACK', send_status: 'FAILED', recipient_address: '#a', colour: 1 };
  const rows = file('his.json', JSON.stringify([{ ...his, message_body: 'x' }, his]));
  await answer('rows', 'import', rows, '--tenant', 'T1', '--dry-run');
  await answer('rows', 'import', rows, '--tenant', 'T1');
  await answer('retry', 'due-1', 'stopped', 'sent', 'unknown');
  await answer('retry', 'waiting');
  await answer('correct', 'cancelled', '--subject', 'Another', '--dry-run');
  await answer('correct', 'sent', '--subject', 'Another');
  await answer('cancel', 'due-2', 'sending', 'sent', 'unknown');
  await answer('cancel', 'due-2');
  await answer('reconcile');
  await answer('dlq', 'drop', 'dead-1', '--yes');
  await answer('replay', '--channel', 'webhook', '--limit', '1', '--yes');
  await answer('replay', '--id', 'unknown', '--yes');
  await answer('dlq', 'redrive', '--channel', 'email', '--yes');
  await answer('dlq', 'redrive', '--channel', 'slack', '--yes');
  await answer('dlq', 'drop', '--channel', 'webhook', '--stale', '--yes');
  await answer('dlq', 'drop');
  const { key_id = '' } = await answer('keys', 'create', '--tenant', 'T1', '--scope', 'send', '--description', 'a');
  await answer('keys', 'list', '--tenant', 'T1');
  await answer('keys', 'revoke', (await answer('keys', 'rotate', key_id, '--keep-old', '2h'))['key_id'] ?? '');
  await answer('keys', 'revoke', 'unknown');
  await answer('keys', 'rotate', 'unknown');
  const members = file('members.csv', 'member_id,email\nm-1,m1@example.com\nm-2,broken');
  await answer('members', 'import', members, '--tenant', 'T1', '--newsletter', 'weekly');
  await answer('members', 'show', 'm-1', '--tenant', 'T1');
  await answer('members', 'show', 'm-9', '--tenant', 'T1');
  await answer('senders', 'list', '--tenant', 'T8');
  await answer('senders', 'allow', '*@Example.COM', '--tenant', 'T8');
  await answer('senders', 'allow', 'no address', '--tenant', 'T8');
  await answer('senders', 'revoke', '*@example.com', '--tenant', 'T8');
  await answer('members', 'suppress', 'm-1', '--tenant', 'T1');
  await answer('members', 'unsuppress', '--email', 'm1@example.com', '--tenant', 'T1');
  const post = file('post.md', '# Hello\n\nText');
  await answer('emails', 'send', post, '--tenant', 'T1', '--newsletter', 'weekly', '--segment', 'status:paid');
  await answer('emails', 'send', post, '--tenant', 'T1', '--newsletter', 'weekly', '--segment', 'status:paid');
  await answer('emails', 'send', post, '--tenant', 'T1', '--newsletter', 'other');
  await answer('emails', 'preview', 'mail-submitted');
  await answer('emails', 'resolve', 'mail-submitted', '--leave');
  await answer('emails', 'resolve', 'mail-failed', '--resend');
  await answer('emails', 'resolve', 'mail-failed');
  await answer('emails', 'pause', 'mail-submitting');
  await answer('emails', 'resume', 'mail-submitting');
  await answer('emails', 'retry', 'mail-failed');
  await answer('emails', 'cancel', 'mail-pending');
  await answer('emails', 'cancel', 'mail-submitted');
  // What was changed above, and by whom.
  await answer('audit', '--from', NOW.toISOString());
}
