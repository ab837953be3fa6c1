import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { synthesizeForEmulator } from '../support/emulator/assembly.ts';
import { type DeployedStack, STACK, stackOn } from '../support/emulator/deployed-stack.ts';
import { ACCOUNT, type Credentials, type Ministack, startMinistack } from '../support/emulator/ministack.ts';
import { foreignRow } from '../support/emulator/rows.ts';
import { createUser, type Right, without } from '../support/emulator/users.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const MINUTES = 60_000;

type Outputs = Readonly<Record<string, string>>;
type Attempt = (stack: DeployedStack, user: Credentials, outputs: Outputs) => Promise<unknown>;

/** What someone may do according to a document, and what that is to enable them to. */
interface DocumentedRights {
  readonly file: string;
  /** The heading of the section that lists the rights. */
  readonly section: string;
  readonly rights: (outputs: Outputs) => readonly Right[];
  readonly attempt: Attempt;
  /** A right without which the attempt is denied. */
  readonly needed: string;
}

const tableOf = (name = '') => `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/${name}`;
const queueOf = (url: string) => `arn:aws:sqs:us-east-1:${ACCOUNT}:${url.split('/').at(-1)}`;
const lanesOf = ({ LaneQueues = '{}' }: Outputs) =>
  Object.values(JSON.parse(LaneQueues) as Record<string, Record<string, string>>).flatMap((lanes) =>
    Object.values(lanes).map(queueOf),
  );
const slackDeadLetters = ({ DeadLetterQueues = '{}' }: Outputs) => queueOf(JSON.parse(DeadLetterQueues).slack);

/** Every command finds the stack first. */
const findStack: Right = {
  actions: ['cloudformation:DescribeStacks'],
  resources: [`arn:aws:cloudformation:us-east-1:${ACCOUNT}:stack/${STACK}/*`],
};

const DOCUMENTED: Readonly<Record<string, DocumentedRights>> = {
  'a producer put a row': {
    file: 'README.md',
    section: 'Leaving a failed notification',
    rights: ({ NotificationLogTable, DataKey = '' }) => [
      { actions: ['dynamodb:PutItem'], resources: [tableOf(NotificationLogTable)] },
      { actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:GenerateDataKey', 'kms:DescribeKey'], resources: [DataKey] },
    ],
    attempt: (stack, user, { NotificationLogTable = '' }) => {
      const email = { notification_type: 'EMAIL', recipient_address: 'someone@your-domain.example' };
      const item = foreignRow({ log_id: 'row-rights', ...email });
      return stack.aws(['dynamodb', 'put-item', '--table-name', NotificationLogTable, '--item', item], user);
    },
    needed: 'dynamodb:PutItem',
  },
  'an operator run the job': {
    file: 'docs/runbook.md',
    section: 'Run, preview, filter',
    rights: (outputs) => [
      findStack,
      { actions: ['dynamodb:Query'], resources: [`${tableOf(outputs['NotificationLogTable'])}/index/work_index`] },
      { actions: ['dynamodb:BatchGetItem'], resources: [tableOf(outputs['NotificationLogTable'])] },
      { actions: ['dynamodb:GetItem', 'dynamodb:Query'], resources: [tableOf(outputs['PipelineStateTable'])] },
      { actions: ['sqs:GetQueueAttributes', 'sqs:SendMessage'], resources: lanesOf(outputs) },
      { actions: ['kms:Decrypt'], resources: [outputs['DataKey'] ?? ''] },
    ],
    attempt: (stack, user) => stack.npm('batch:notification-retry', ['--json', '--wait'], user),
    needed: 'dynamodb:Query',
  },
  'an operator redrive dead letters by the AWS CLI': {
    file: 'docs/runbook.md',
    section: 'Dead letters: redrive',
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
      { actions: ['sqs:SendMessage'], resources: lanesOf(outputs) },
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
    file: 'docs/runbook.md',
    section: 'API keys',
    rights: ({ ApiKeysTable, DataKey = '' }) => [
      findStack,
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

/** The text of a section of a document, up to the next heading. */
function sectionOf(file: string, heading: string): string {
  const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
  const [, section] = text.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`${file} has no section "${heading}"`);
  return section.split(/\n## /)[0] ?? '';
}

describe.skipIf(!process.env['WITH_EMULATOR'])('the rights that the documents list', { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let outputs: Outputs;

  beforeAll(async () => {
    const [assembly, started] = await Promise.all([synthesizeForEmulator(), startMinistack({ enforceIam: true })]);
    emulator = started;
    stack = stackOn(emulator);
    await stack.prepare(assembly);
    await stack.deploy(assembly);
    outputs = await stack.outputs();
  }, 8 * MINUTES);
  afterAll(() => emulator?.stop());

  describe.each(Object.entries(DOCUMENTED))('let %s', (name, { file, section, rights, attempt, needed }) => {
    const user = name.replaceAll(' ', '-');

    it('with nothing beyond them', async () => {
      const documented = sectionOf(file, section) + sectionOf('docs/runbook.md', 'Run, preview, filter');
      for (const action of rights(outputs).flatMap(({ actions }) => actions)) {
        expect(documented, `${action} in ${file}, section "${section}"`).toContain(action.split(':')[1]);
      }
      await attempt(stack, await createUser(stack, user, rights(outputs)), outputs);
    });

    it(`and not without ${needed}`, async () => {
      const fewer = await createUser(stack, `${user}-with-fewer-rights`, without(needed, rights(outputs)));
      await expect(attempt(stack, fewer, outputs)).rejects.toThrow(/AccessDenied|not authorized/);
    });
  });
});
