import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATOR_COMMANDS } from '../support/docs/operator-commands.ts';
import { deployOnEmulator, MINUTES } from '../support/emulator/deploy.ts';
import type { DeployedStack } from '../support/emulator/deployed-stack.ts';
import type { Ministack } from '../support/emulator/ministack.ts';
import { NewsletterCalls } from '../support/emulator/newsletter-calls.ts';
import { documentedRights } from '../support/emulator/operator-rights.ts';
import type { Outputs } from '../support/emulator/resources.ts';
import { leaveRow } from '../support/emulator/rows.ts';
import { until } from '../support/emulator/until.ts';
import { createUser } from '../support/emulator/users.ts';
import { type Loopback, replying, startLoopback } from '../support/loopback.ts';

interface Attempt {
  /** Arguments of `npm run ops`. */
  readonly args: () => Promise<readonly string[]> | readonly string[];
  /** What it reads from standard input. */
  readonly input?: string;
  /** Part of a refusal that has nothing to do with rights, where the command cannot be done here. */
  readonly refused?: string;
}

/** Opt-in by `npm run test:emulator`. Which calls a command makes at all is held by test/cli/documented-rights. */
describe('operators with the rights of the runbook', { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let outputs: Outputs;
  let receiver: Loopback;
  let newsletters: NewsletterCalls;
  let key_id = '';
  let email_id = '';
  let scheduled_id = '';
  const files = mkdtempSync(join(tmpdir(), 'notification-retry-operator-'));
  const members = join(files, 'members.csv');
  const post = join(files, 'post.md');
  const tenant = ['--tenant', 'TENANT001'] as const;
  const publication = ['--newsletter', 'weekly'] as const;

  beforeAll(async () => {
    writeFileSync(members, 'member_id,email\nann,ann@your-domain.example\n');
    writeFileSync(post, '# Hello\n\nText');
    receiver = await startLoopback();
    ({ emulator, stack } = await deployOnEmulator({ enforceIam: true, context: { outcomes: 'true' } }));
    outputs = await stack.outputs();
    await stack.aws(['sesv2', 'create-email-identity', '--email-identity', 'example.com']);
    newsletters = new NewsletterCalls(stack);
    await newsletters.start();
    await newsletters.call('PUT', '/v1/newsletters/weekly', { name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    await giveUp('dead-replay', 'dead-retry', 'dead-drop');
    await leave('due-cancel');
  }, 10 * MINUTES);
  afterAll(async () => {
    await emulator?.stop();
    await receiver?.close();
  }, MINUTES);

  /** A row that waits for the next sweep. */
  const leave = (log_id: string) =>
    leaveRow(stack, { log_id, notification_type: 'WEBHOOK', recipient_address: `${receiver.url}/${log_id}` });
  /** Rows that end as dead letters, because the receiver refuses them for good. */
  const giveUp = async (...log_ids: readonly string[]) => {
    receiver.answer = replying(401, '{"error":"unauthorized"}');
    for (const log_id of log_ids) await leave(log_id);
    await stack.npm('batch:notification-retry', ['--json', '--channel=webhook', '--wait']);
    const letters = () => stack.npm('ops', ['dlq', 'list', '--channel', 'webhook', '--json']);
    await until('the dead letters are there', async () => {
      const listed = await letters();
      return log_ids.every((log_id) => listed.includes(log_id));
    });
    receiver.answer = replying(200, 'ok');
  };
  const json = async (...args: readonly string[]) => JSON.parse(await stack.npm('ops', [...args, '--json']));
  const key = async () => {
    key_id = (await json('keys', 'create', ...tenant, '--scope', 'send')).key_id;
    return key_id;
  };

  const ATTEMPTS: Readonly<Record<string, Attempt>> = {
    preflight: { args: () => ['preflight', '--json'] },
    leftovers: { args: () => ['leftovers', '--json'] },
    status: { args: () => ['status'] },
    sweeps: { args: () => ['sweeps'] },
    audit: { args: () => ['audit'] },
    list: { args: () => ['list', '--status', 'dead', '--channel', 'webhook'] },
    show: { args: () => ['show', 'dead-replay'] },
    retry: { args: () => ['retry', 'dead-retry'] },
    cancel: { args: () => ['cancel', 'due-cancel'] },
    replay: { args: () => ['replay', '--channel', 'webhook', '--error-type', 'AUTH_FAILED', '--yes'] },
    reconcile: { args: () => ['reconcile', '--dry-run'] },
    verify: { args: () => ['verify', '--letters'] },
    // It tells of those that were given up.
    'outcomes resend': {
      args: () => ['outcomes', 'resend', '--from', '1d', '--to', new Date(Date.now() + MINUTES).toISOString()],
    },
    'dlq list': { args: () => ['dlq', 'list'] },
    'dlq show': { args: () => ['dlq', 'show', 'dead-drop'] },
    // The emulator authorizes the call before it finds out that it has no such action.
    'dlq redrive': { args: () => ['dlq', 'redrive', '--channel', 'webhook', '--yes'], refused: 'InvalidAction' },
    'dlq drop': { args: () => ['dlq', 'drop', '--channel', 'webhook', '--all', '--yes'] },
    'rows import': {
      args: () => {
        const his = {
          id: 'his-1',
          notification_type: 'WEBHOOK',
          send_status: 'SUCCESS',
          sent_at: '2026-01-01 10:30:15',
        };
        writeFileSync(join(files, 'his.json'), JSON.stringify([his]));
        return ['rows', 'import', join(files, 'his.json'), ...tenant];
      },
    },
    'keys create': { args: () => ['keys', 'create', ...tenant, '--scope', 'send'] },
    'keys list': { args: () => ['keys', 'list'] },
    'keys rotate': { args: async () => ['keys', 'rotate', await key()] },
    'keys revoke': { args: () => ['keys', 'revoke', key_id] },
    'members import': { args: () => ['members', 'import', members, ...tenant, ...publication] },
    'members export': { args: () => ['members', 'export', join(files, 'export.csv'), ...tenant] },
    'members show': { args: () => ['members', 'show', '--email', 'ann@your-domain.example', ...tenant] },
    'members suppress': { args: () => ['members', 'suppress', 'ann', ...tenant] },
    'members unsuppress': { args: () => ['members', 'unsuppress', 'ann', ...tenant] },
    'newsletters create': {
      args: () => ['newsletters', 'create', 'monthly', ...tenant, '--name', 'Monthly', '--from', 'weekly@example.com'],
    },
    'newsletters list': { args: () => ['newsletters', 'list', ...tenant] },
    'newsletters show': { args: () => ['newsletters', 'show', 'monthly', ...tenant] },
    'senders allow': { args: () => ['senders', 'allow', '*@your-domain.example', ...tenant] },
    'senders list': { args: () => ['senders', 'list', ...tenant] },
    'senders revoke': { args: () => ['senders', 'revoke', '*@your-domain.example', ...tenant] },
    'emails send': { args: () => ['emails', 'send', post, ...tenant, ...publication] },
    'emails test': { args: () => ['emails', 'test', post, ...tenant, ...publication, '--to', 'me@example.com'] },
    'emails list': {
      args: async () => {
        const [sent] = await json('emails', 'list', ...tenant);
        email_id = sent.email_id;
        await newsletters.ended(email_id);
        const scheduled_at = new Date(Date.now() + 60 * MINUTES).toISOString();
        const later = { newsletter_id: 'weekly', format: 'text', subject: 'Later', body: 'Hello', scheduled_at };
        ({ email_id: scheduled_id } = await newsletters.call<{ email_id: string }>('POST', '/v1/emails', later));
        return ['emails', 'list', ...tenant];
      },
    },
    'emails status': { args: () => ['emails', 'status', email_id] },
    'emails recipients': { args: () => ['emails', 'recipients', email_id, '--addresses'] },
    'emails resolve': { args: () => ['emails', 'resolve', email_id, '--leave'] },
    'emails retry': { args: () => ['emails', 'retry', email_id], refused: 'cannot be retried' },
    'emails replace': { args: () => ['emails', 'replace', scheduled_id, post] },
    'emails pause': { args: () => ['emails', 'pause', scheduled_id] },
    'emails resume': { args: () => ['emails', 'resume', scheduled_id] },
    'emails cancel': { args: () => ['emails', 'cancel', scheduled_id] },
    forget: { args: () => ['forget', '--recipient', '-', ...tenant], input: 'ann@your-domain.example' },
  };

  it('are tried with every command', () => {
    // The console does what the other commands do, until somebody ends it.
    const commands = [...OPERATOR_COMMANDS.keys()].filter((command) => command !== 'console');
    expect(Object.keys(ATTEMPTS).sort()).toEqual(commands.sort());
  });

  it.each(Object.entries(ATTEMPTS))('may do `%s`', async (command, { args, input, refused }) => {
    const line = await args();
    const user = await createUser(stack, command.replaceAll(' ', '-'), documentedRights(command, outputs));
    const run = stack.npm('ops', line, user, input);
    if (refused === undefined) await run;
    else await expect(run).rejects.toThrow(refused);
  });

  it('may do nothing else', async () => {
    const user = await createUser(stack, 'only-lists', documentedRights('list', outputs));
    await expect(stack.npm('ops', ['keys', 'list'], user)).rejects.toThrow('You lack the right dynamodb:Scan');
  });
});
