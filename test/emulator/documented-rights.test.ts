import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATOR_COMMANDS, OPERATOR_RIGHTS, sectionOf } from '../support/docs/operator-commands.ts';
import { deployOnEmulator, MINUTES } from '../support/emulator/deploy.ts';
import type { DeployedStack } from '../support/emulator/deployed-stack.ts';
import type { Credentials, Ministack } from '../support/emulator/ministack.ts';
import { FIND_STACK, type Outputs, queueOf, queuesIn, tableOf } from '../support/emulator/resources.ts';
import { foreignRow } from '../support/emulator/rows.ts';
import { createUser, type Right, without } from '../support/emulator/users.ts';

type Attempt = (stack: DeployedStack, user: Credentials, outputs: Outputs) => Promise<unknown>;

/** What someone may do according to a document, and what that is to enable them to. */
interface DocumentedRights {
  /** Where the rights are listed. */
  readonly where: string;
  /** The text that lists them. */
  readonly documented: string;
  readonly rights: (outputs: Outputs) => readonly Right[];
  readonly attempt: Attempt;
  /** A right without which the attempt is denied. */
  readonly needed: string;
}

/** The row of a command in the runbook's table. */
const rightsOf = (command: string) => (OPERATOR_COMMANDS.get(command) ?? []).join(' ');

const slackDeadLetters = ({ DeadLetterQueues = '{}' }: Outputs) => queueOf(JSON.parse(DeadLetterQueues).slack);

const DOCUMENTED: Readonly<Record<string, DocumentedRights>> = {
  'a producer put a row': {
    where: 'docs/reference/handing-over.md, "Leaving a failed notification"',
    documented: sectionOf('docs/reference/handing-over.md', 'Leaving a failed notification'),
    rights: ({ NotificationLogTable, DataKey = '' }) => [
      { actions: ['dynamodb:PutItem'], resources: [tableOf(NotificationLogTable)] },
      { actions: ['kms:Decrypt', 'kms:GenerateDataKey'], resources: [DataKey] },
    ],
    attempt: (stack, user, { NotificationLogTable = '' }) => {
      const email = { notification_type: 'EMAIL', recipient_address: 'someone@your-domain.example' };
      const item = foreignRow({ log_id: 'row-rights', ...email });
      return stack.aws(['dynamodb', 'put-item', '--table-name', NotificationLogTable, '--item', item], user);
    },
    needed: 'dynamodb:PutItem',
  },
  'an operator run the job': {
    where: 'docs/runbook.md, "Run, preview, filter"',
    documented: sectionOf('docs/runbook.md', 'Run, preview, filter'),
    rights: (outputs) => [
      FIND_STACK,
      { actions: ['dynamodb:Query'], resources: [`${tableOf(outputs['NotificationLogTable'])}/index/work_index`] },
      { actions: ['dynamodb:BatchGetItem'], resources: [tableOf(outputs['NotificationLogTable'])] },
      { actions: ['dynamodb:GetItem', 'dynamodb:Query'], resources: [tableOf(outputs['PipelineStateTable'])] },
      { actions: ['sqs:GetQueueAttributes', 'sqs:SendMessage'], resources: queuesIn(outputs['LaneQueues']) },
      { actions: ['kms:Decrypt'], resources: [outputs['DataKey'] ?? ''] },
    ],
    attempt: (stack, user) => stack.npm('batch:notification-retry', ['--json', '--wait'], user),
    needed: 'dynamodb:Query',
  },
  'an operator redrive dead letters by the AWS CLI': {
    where: 'docs/runbook.md, "Operator commands", dlq redrive',
    documented: rightsOf('dlq redrive'),
    rights: (outputs) => [
      {
        actions: [
          'StartMessageMoveTask',
          'ListMessageMoveTasks',
          'ReceiveMessage',
          'DeleteMessage',
          'GetQueueAttributes',
        ].map((action) => `sqs:${action}`),
        resources: [slackDeadLetters(outputs)],
      },
      { actions: ['sqs:SendMessage'], resources: queuesIn(outputs['LaneQueues']) },
    ],
    attempt: async (stack, user, outputs) => {
      for (const command of ['start-message-move-task', 'list-message-move-tasks']) {
        // The emulator authorizes the call before it finds out that it has no such action.
        await stack.aws(['sqs', command, '--source-arn', slackDeadLetters(outputs)], user).catch((error: Error) => {
          if (!error.message.includes('InvalidAction')) throw error;
        });
      }
    },
    needed: 'sqs:StartMessageMoveTask',
  },
  'an operator manage API keys': {
    where: 'docs/runbook.md, "Operator commands", keys',
    documented: ['keys create', 'keys list', 'keys rotate', 'keys revoke'].map(rightsOf).join(' ') + OPERATOR_RIGHTS,
    rights: ({ ApiKeysTable, AuditTable, DataKey = '' }) => [
      FIND_STACK,
      { actions: ['dynamodb:PutItem'], resources: [tableOf(AuditTable)] },
      {
        actions: ['dynamodb:PutItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:Scan'],
        resources: [tableOf(ApiKeysTable)],
      },
      { actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:GenerateDataKey'], resources: [DataKey] },
    ],
    attempt: async (stack, user) => {
      const key = await stack.npm('ops', ['keys', 'create', '--tenant', 'TENANT001', '--scope', 'send'], user);
      const key_id = key.split('_')[1] ?? '';
      await stack.npm('ops', ['keys', 'rotate', key_id, '--keep-old', '2h'], user);
      await stack.npm('ops', ['keys', 'list', '--tenant', 'TENANT001'], user);
      await stack.npm('ops', ['keys', 'revoke', key_id], user);
    },
    needed: 'dynamodb:PutItem',
  },
};

describe('the rights that the documents list', { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let outputs: Outputs;

  beforeAll(async () => {
    ({ emulator, stack } = await deployOnEmulator({ enforceIam: true }));
    outputs = await stack.outputs();
  }, 8 * MINUTES);
  afterAll(() => emulator?.stop());

  describe.each(Object.entries(DOCUMENTED))('let %s', (name, { where, documented, rights, attempt, needed }) => {
    const user = name.replaceAll(' ', '-');

    it('with nothing beyond them', async () => {
      for (const action of rights(outputs).flatMap(({ actions }) => actions)) {
        expect(documented, `${action} in ${where}`).toContain(action.split(':')[1]);
      }
      await attempt(stack, await createUser(stack, user, rights(outputs)), outputs);
    });

    it(`and not without ${needed}`, async () => {
      const fewer = await createUser(stack, `${user}-with-fewer-rights`, without(needed, rights(outputs)));
      await expect(attempt(stack, fewer, outputs)).rejects.toThrow(/AccessDenied|not authorized/);
    });
  });

  it('are judged as on AWS, where a condition on the partition keys of a request denies others', async () => {
    const condition = { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['breaker'] } };
    const table = outputs['PipelineStateTable'] ?? '';
    const user = await createUser(stack, 'of-breakers', [
      {
        actions: ['dynamodb:Query', 'dynamodb:UpdateItem', 'dynamodb:BatchGetItem'],
        resources: [tableOf(table)],
        condition,
      },
      { actions: ['kms:Decrypt'], resources: [outputs['DataKey'] ?? ''] },
    ]);
    const calls = (kind: string) => {
      const key = { kind: { S: kind }, id: { S: 'x' } };
      const values = JSON.stringify({ ':k': { S: kind } });
      const on = ['--table-name', table];
      return [
        [
          'query',
          ...on,
          '--key-condition-expression',
          '#k = :k',
          '--expression-attribute-names',
          '{"#k":"kind"}',
          '--expression-attribute-values',
          values,
        ],
        ['update-item', ...on, '--key', JSON.stringify(key)],
        ['batch-get-item', '--request-items', JSON.stringify({ [table]: { Keys: [key] } })],
      ].map((call) => stack.aws(['dynamodb', ...call], user));
    };
    await Promise.all(calls('breaker'));
    for (const { reason } of (await Promise.allSettled(calls('budget'))) as { reason?: unknown }[]) {
      expect(String(reason)).toMatch(/AccessDenied|not authorized/);
    }
  });
});
