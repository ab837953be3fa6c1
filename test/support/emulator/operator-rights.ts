import { OPERATOR_COMMANDS, OPERATOR_SECTION } from '../docs/operator-commands.ts';
import { ACCOUNT } from './ministack.ts';
import { FIND_STACK, type Outputs, queuesIn, tableOf } from './resources.ts';
import type { Right } from './users.ts';

const indexesOf = (name = '') => `${tableOf(name)}/index/*`;

/** The runbook's second table: actions of some commands, and their resources. */
interface ResourceRow {
  /** The row as the runbook has it. */
  readonly documented: string;
  readonly commands: RegExp;
  readonly actions: RegExp;
  readonly resources: (outputs: Outputs) => readonly string[];
}

const ANY = /./;
const ROWS: readonly ResourceRow[] = [
  {
    documented: 'the actions of `preflight` and `leftovers`',
    commands: /^(preflight|leftovers)/,
    actions: ANY,
    resources: () => ['*'],
  },
  {
    documented: '`dynamodb:…` of `keys`',
    commands: /^keys/,
    actions: /^dynamodb:/,
    resources: ({ ApiKeysTable }) => [tableOf(ApiKeysTable)],
  },
  {
    documented: '`dynamodb:Query` of `audit`',
    commands: /^audit/,
    actions: /:Query$/,
    resources: ({ AuditTable }) => [tableOf(AuditTable)],
  },
  {
    documented: '`dynamodb:PutItem` of each command that changes something',
    commands: ANY,
    actions: /:PutItem$/,
    resources: ({ AuditTable }) => [tableOf(AuditTable)],
  },
  {
    documented: '`dynamodb:…` of `members`',
    commands: /^members/,
    actions: /^dynamodb:/,
    resources: ({ MembersTable }) => [tableOf(MembersTable)],
  },
  {
    documented: '`GetItem` and `PutItem` also DataKeys',
    commands: /^members/,
    actions: /:(GetItem|PutItem)$/,
    resources: ({ DataKeysTable }) => [tableOf(DataKeysTable)],
  },
  {
    documented: '`Query` also the table in output `NewslettersTable`',
    commands: /^members/,
    actions: /:Query$/,
    resources: ({ NewslettersTable }) => [tableOf(NewslettersTable)],
  },
  {
    documented: '`dynamodb:…` of `emails`',
    commands: /^emails/,
    actions: /^dynamodb:/,
    resources: ({ EmailsTable, EmailBatchesTable, EmailRecipientsTable }) => [
      ...[EmailsTable, EmailBatchesTable, EmailRecipientsTable].map(tableOf),
      `${tableOf(EmailsTable)}/index/tenant_index`,
    ],
  },
  {
    documented: 'for `GetItem` of `send`, `test`, `preview` and `replace` also that in `NewslettersTable`',
    commands: /^emails (send|test|preview|replace)/,
    actions: /:GetItem$/,
    resources: ({ NewslettersTable }) => [tableOf(NewslettersTable)],
  },
  {
    documented: 'of `test` and `status` PipelineState',
    commands: /^emails (test|status)/,
    actions: /:(GetItem|UpdateItem)$/,
    resources: ({ PipelineStateTable }) => [tableOf(PipelineStateTable)],
  },
  {
    documented: 'with `--addresses` or `--member` DataKeys',
    commands: /^emails (recipients|preview)/,
    actions: /^dynamodb:/,
    resources: ({ DataKeysTable }) => [tableOf(DataKeysTable)],
  },
  {
    documented: 'the other `dynamodb:…` of `newsletters` and `senders`',
    commands: /^(newsletters|senders)/,
    actions: /^dynamodb:(?!PutItem)/,
    resources: ({ NewslettersTable }) => [tableOf(NewslettersTable)],
  },
  {
    documented: 'of `test` and `preview` that in `MembersTable`',
    commands: /^emails (test|preview)/,
    actions: /:(BatchGetItem|GetItem)$/,
    resources: ({ MembersTable }) => [tableOf(MembersTable)],
  },
  {
    documented: '`sqs:SendMessage` of `emails`',
    commands: /^emails/,
    actions: /^sqs:/,
    resources: ({ NewsletterQueues }) => queuesIn(NewsletterQueues),
  },
  {
    documented: '`dynamodb:Query`',
    commands: /^(?!audit|keys|members|newsletters|senders|emails|outcomes)/,
    actions: /:Query$/,
    resources: ({ NotificationLogTable }) => [indexesOf(NotificationLogTable)],
  },
  {
    documented: 'for `show` NotificationRetryLog',
    commands: /^show/,
    actions: /:Query$/,
    resources: ({ NotificationRetryLogTable }) => [tableOf(NotificationRetryLogTable)],
  },
  {
    documented: 'for `status`, `sweeps`, `list` and `show` PipelineState',
    commands: /^(status|sweeps|list|show)/,
    actions: /:Query$/,
    resources: ({ PipelineStateTable }) => [tableOf(PipelineStateTable)],
  },
  {
    documented: '`dynamodb:GetItem` of `status`, `list`, `replay`, `verify`',
    commands: /^(status|list|replay|verify|restore)/,
    actions: /:GetItem$/,
    resources: ({ PipelineStateTable }) => [tableOf(PipelineStateTable)],
  },
  {
    documented: '`dynamodb:Query` and `dynamodb:UpdateItem` of `replay`',
    commands: /^replay/,
    actions: /:(Query|UpdateItem)$/,
    resources: ({ PipelineStateTable }) => [tableOf(PipelineStateTable)],
  },
  {
    documented: '`dynamodb:GetItem` of `show`',
    commands: /^show/,
    actions: /:GetItem$/,
    resources: ({ NotificationContentTable }) => [tableOf(NotificationContentTable)],
  },
  {
    documented: '`dynamodb:GetItem` and `dynamodb:PartiQLInsert` of `cancel`',
    commands: /^cancel/,
    actions: /:(GetItem|PartiQLInsert)$/,
    resources: ({ NotificationRetryLogTable }) => [tableOf(NotificationRetryLogTable)],
  },
  {
    documented: '`dynamodb:Scan` of `verify`',
    commands: /^(verify|restore)/,
    actions: /:Scan$/,
    resources: ({ NotificationContentTable, EmailsTable }) => [
      tableOf(NotificationContentTable),
      `${tableOf(EmailsTable)}/index/tenant_index`,
    ],
  },
  {
    documented: '`dynamodb:Scan` of `outcomes resend`',
    commands: /^outcomes/,
    actions: /:Scan$/,
    resources: ({ NotificationLogTable, EmailsTable, MembersTable }) =>
      [NotificationLogTable, EmailsTable, MembersTable].map(tableOf),
  },
  {
    documented: '`dynamodb:Query` of `outcomes resend`',
    commands: /^outcomes/,
    actions: /:Query$/,
    resources: ({ PipelineStateTable, MembersTable }) => [PipelineStateTable, MembersTable].map(tableOf),
  },
  {
    documented: '`events:PutEvents`',
    commands: /^outcomes/,
    actions: /^events:/,
    resources: ({ OutcomesBus }) => [`arn:aws:events:us-east-1:${ACCOUNT}:event-bus/${OutcomesBus}`],
  },
  {
    documented: '`dynamodb:Query` of `verify`',
    commands: /^(verify|restore)/,
    actions: /:Query$/,
    resources: ({ NotificationRetryLogTable, EmailsTable, EmailBatchesTable, EmailRecipientsTable }) =>
      [NotificationRetryLogTable, EmailsTable, EmailBatchesTable, EmailRecipientsTable].map(tableOf),
  },
  {
    documented: '`dynamodb:…` of `forget`',
    commands: /^forget/,
    actions: /^dynamodb:/,
    resources: ({
      NotificationContentTable,
      NotificationRetryLogTable,
      NotificationLogTable,
      DataKeysTable,
      MembersTable,
    }) =>
      [NotificationLogTable, NotificationContentTable, NotificationRetryLogTable, DataKeysTable, MembersTable].map(
        tableOf,
      ),
  },
  {
    documented: '`restore` the rights of `verify`, the restored tables, PipelineState',
    commands: /^restore/,
    actions: /^dynamodb:/,
    resources: ({ NotificationContentTable, NotificationRetryLogTable, DataKeysTable, PipelineStateTable }) =>
      [NotificationContentTable, NotificationRetryLogTable, DataKeysTable, PipelineStateTable].map(tableOf),
  },
  {
    documented: 'and `AuditTable`|',
    commands: /^restore/,
    actions: /:Query$/,
    resources: ({ AuditTable }) => [tableOf(AuditTable)],
  },
  {
    documented: '`events:…`, `lambda:…` of `restore`',
    commands: /^restore/,
    actions: /^(events|lambda):/,
    resources: () => ['*'],
  },
  {
    documented: '`dynamodb:…` of `correct`',
    commands: /^correct/,
    actions: /^dynamodb:/,
    resources: ({ NotificationContentTable, DataKeysTable, NotificationRetryLogTable }) =>
      [NotificationContentTable, DataKeysTable, NotificationRetryLogTable].map(tableOf),
  },
  {
    documented: 'the other `dynamodb:…`',
    commands: /^(?!audit|keys|members|newsletters|senders|emails|outcomes)/,
    actions: /^dynamodb:(?!Query)/,
    resources: ({ NotificationLogTable }) => [tableOf(NotificationLogTable)],
  },
  {
    documented: '`sqs:SendMessage`',
    commands: /^(?!emails)/,
    actions: /^sqs:SendMessage$/,
    resources: ({ LaneQueues }) => queuesIn(LaneQueues),
  },
  {
    documented: '`sqs:GetQueueAttributes`',
    commands: /^(status|verify|restore)/,
    actions: /^sqs:GetQueueAttributes$/,
    resources: ({ LaneQueues }) => queuesIn(LaneQueues),
  },
  {
    documented: '`secretsmanager:GetSecretValue` |the secret in output `RecipientHashSecret`',
    commands: ANY,
    actions: /^secretsmanager:/,
    resources: ({ RecipientHashSecret = '' }) => [RecipientHashSecret],
  },
  {
    documented: '`lambda:InvokeFunction`',
    commands: ANY,
    actions: /^lambda:InvokeFunction$/,
    resources: ({ ReconcilerFunction }) => [
      `arn:aws:lambda:us-east-1:${ACCOUNT}:function:${ReconcilerFunction?.split(':').at(-1)}`,
    ],
  },
  {
    documented: 'the other `sqs:…`',
    commands: /^(dlq|verify|restore|replay)/,
    actions: /^sqs:(?!SendMessage)/,
    resources: ({ DeadLetterQueues }) => queuesIn(DeadLetterQueues),
  },
];

const WRITES = /:(PutItem|UpdateItem|PartiQLUpdate|PartiQLInsert)$/;

/** What the runbook says below its table that commands need beside the table. */
function besides(command: string, actions: readonly string[], { DataKey = '', RecipientKey = '' }: Outputs): Right[] {
  return [
    FIND_STACK,
    { actions: ['kms:Decrypt'], resources: [DataKey] },
    ...(actions.some((action) => WRITES.test(action))
      ? [{ actions: ['kms:Encrypt', 'kms:GenerateDataKey'], resources: [DataKey] }]
      : []),
    ...(/^(preflight|leftovers)$/.test(command) ? [{ actions: FIND_STACK.actions, resources: ['*'] }] : []),
    ...(actions.includes('secretsmanager:GetSecretValue') || command.startsWith('members')
      ? [{ actions: ['kms:Decrypt'], resources: [RecipientKey] }]
      : []),
    ...(/^(correct|members import)$/.test(command)
      ? [{ actions: ['kms:GenerateDataKey'], resources: [RecipientKey] }]
      : []),
    ...(command === 'restore' ? [{ actions: ['cloudformation:ListStackResources'], resources: ['*'] }] : []),
    ...(/^emails (recipients|preview)$/.test(command) ? [{ actions: ['kms:Decrypt'], resources: [RecipientKey] }] : []),
    ...(/^emails (send|test|replace)$/.test(command)
      ? [{ actions: ['ses:GetEmailIdentity'], resources: [`arn:aws:ses:us-east-1:${ACCOUNT}:identity/*`] }]
      : []),
    // To send a mail is authorized by the emulator without identity, configuration set and template.
    ...(command === 'emails test'
      ? [{ actions: ['ses:SendBulkEmail', 'ses:SendBulkTemplatedEmail'], resources: ['*'] }]
      : []),
  ];
}

/**
 * The rights of a command exactly as the runbook lists them.
 * @throws Error when the runbook has no such command, or no longer the row that a resource is taken from
 */
export function documentedRights(command: string, outputs: Outputs): readonly Right[] {
  const actions = OPERATOR_COMMANDS.get(command);
  if (actions === undefined) throw new Error(`docs/runbook.md, "Operator commands", has no command \`${command}\``);
  const bound = actions.map((action): Right => {
    const rows = ROWS.filter((row) => row.commands.test(command) && row.actions.test(action));
    for (const { documented } of rows) {
      if (!OPERATOR_SECTION.includes(documented)) throw new Error(`docs/runbook.md no longer says: ${documented}`);
    }
    return { actions: [action], resources: rows.flatMap(({ resources }) => resources(outputs)) };
  });
  return [...bound, ...besides(command, actions, outputs)];
}
