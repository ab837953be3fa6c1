import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployOnEmulator, MINUTES } from '../support/emulator/deploy.ts';
import type { DeployedStack } from '../support/emulator/deployed-stack.ts';
import type { Ministack } from '../support/emulator/ministack.ts';
import { NewsletterCalls } from '../support/emulator/newsletter-calls.ts';
import { type AttemptWorld, OPERATOR_ATTEMPTS, RESTORED } from '../support/emulator/operator-attempts.ts';
import { documentedRights } from '../support/emulator/operator-rights.ts';
import type { Outputs } from '../support/emulator/resources.ts';
import { foreignRow, leaveRow } from '../support/emulator/rows.ts';
import { until } from '../support/emulator/until.ts';
import { createUser } from '../support/emulator/users.ts';
import { type Loopback, replying, startLoopback } from '../support/loopback.ts';

/** Opt-in by `npm run test:emulator`. Which calls a command makes at all is held by test/cli/documented-rights. */
describe('operators with the rights of the runbook', { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let outputs: Outputs;
  let receiver: Loopback;
  let world: AttemptWorld;
  const files = mkdtempSync(join(tmpdir(), 'notification-retry-operator-'));
  const file = (name: string) => join(files, name);

  beforeAll(async () => {
    writeFileSync(file('members.csv'), 'member_id,email\nann,ann@your-domain.example\n');
    writeFileSync(file('post.md'), '# Hello\n\nText');
    receiver = await startLoopback();
    ({ emulator, stack } = await deployOnEmulator({ enforceIam: true, context: { outcomes: 'true' } }));
    outputs = await stack.outputs();
    await stack.aws(['sesv2', 'create-email-identity', '--email-identity', 'example.com']);
    const newsletters = new NewsletterCalls(stack);
    await newsletters.start();
    await newsletters.call('PUT', '/v1/newsletters/weekly', { name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    const ids = { key: '', email: '', scheduled: '' };
    const key = async () => {
      const { key_id } = await json<{ key_id: string }>('keys', 'create', '--tenant', 'TENANT001', '--scope', 'send');
      ids.key = key_id;
      return key_id;
    };
    world = { receiver_url: receiver.url, newsletters, file, json, key, ids };
    await giveUp('dead-replay', 'dead-retry', 'dead-correct', 'dead-drop');
    await leave('due-cancel');
    await restoreLog();
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
  const json = async <T>(...args: readonly string[]) => JSON.parse(await stack.npm('ops', [...args, '--json'])) as T;
  /** The emulator restores no table: another one that holds a row which the log has lost. */
  const restoreLog = async () => {
    const keys = ['--attribute-definitions', 'AttributeName=log_id,AttributeType=S'];
    const schema = ['--key-schema', 'AttributeName=log_id,KeyType=HASH', '--billing-mode', 'PAY_PER_REQUEST'];
    await stack.aws(['dynamodb', 'create-table', '--table-name', RESTORED, ...keys, ...schema]);
    const item = foreignRow({
      log_id: 'lost',
      notification_type: 'WEBHOOK',
      recipient_address: `${receiver.url}/lost`,
    });
    await stack.aws(['dynamodb', 'put-item', '--table-name', RESTORED, '--item', item]);
  };
  it.each(Object.entries(OPERATOR_ATTEMPTS))(
    'may do `%s`',
    async (command, { args, around, besides, input, refused }) => {
      const line = await args(world);
      const rights = [...documentedRights(command, outputs), ...(besides ? [besides] : [])];
      const user = await createUser(stack, command.replaceAll(' ', '-'), rights);
      if (around !== undefined) await stack.npm('ops', around[0], user);
      const run = stack.npm('ops', line, user, input?.(world));
      if (refused === undefined) await run;
      else await expect(run).rejects.toThrow(refused);
      if (around !== undefined) await stack.npm('ops', around[1], user);
    },
  );

  it('may do nothing else', async () => {
    const user = await createUser(stack, 'only-lists', documentedRights('list', outputs));
    await expect(stack.npm('ops', ['keys', 'list'], user)).rejects.toThrow('You lack the right dynamodb:Scan');
  });
});
