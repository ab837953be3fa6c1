import {
  CloudFormationClient,
  paginateDescribeStacks,
  paginateListStackResources,
  paginateListStacks,
  type StackSummary,
} from '@aws-sdk/client-cloudformation';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { SecretListEntry, SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { type Access, BASE } from './account-facts.ts';

export interface Leftover {
  readonly what: string;
  /** The command that removes it. */
  readonly remove: string;
}

/**
 * What a stack of this name, its nested ones and those of its parts have left, and no stack owns: tables and secrets by
 * their names; the others, whose names do not tell whose they are, by what CloudFormation remembers for 90 days. The
 * secrets of integrations, which operators have made, are left when the stack is gone.
 */
export async function readLeftovers(stack: string, given: Access = {}): Promise<Leftover[]> {
  const [{ DynamoDBClient, paginateListTables }, { SecretsManagerClient, paginateListSecrets }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('@aws-sdk/client-secrets-manager'),
  ]);
  const access: Access = { ...BASE, ...given };
  const existing = new Set<string | undefined>();
  const tables: string[] = [];
  const dynamodb = new DynamoDBClient(access as DynamoDBClientConfig);
  for await (const { TableNames = [] } of paginateListTables({ client: dynamodb }, {})) {
    for (const name of TableNames) existing.add(name);
    tables.push(...TableNames.filter((name) => isNamedBy(stack, name)));
  }
  const mark = `${stack.replace(/^notification-retry-/, 'notification-retry ')}:`;
  const secrets: SecretListEntry[] = [];
  // The stage may live on in a stack of another name, with the same integrations.
  let isElsewhere = false;
  const manager = new SecretsManagerClient(access as SecretsManagerClientConfig);
  for await (const { SecretList = [] } of paginateListSecrets({ client: manager }, {})) {
    for (const { ARN } of SecretList) existing.add(ARN);
    isElsewhere ||= SecretList.some((one) => isOfAnother(stack, one) && one.Description?.startsWith(mark));
    secrets.push(...SecretList.filter((one) => !isOfAnother(stack, one)));
  }
  const letGo = await letGoBy(stack, access);
  // Read last: what a deployment makes meanwhile is owned by then.
  const owned = await ownedBy(stack, access);
  const integrations = `${stack.replace(/^notification-retry-/, 'notification-retry/')}/integrations/`;
  const listed = new Set([...tables, ...secrets.map(({ ARN }) => ARN)]);
  return [
    ...tables
      .filter((name) => !owned.has(name))
      .map((name) => ({ what: `The table ${name}.`, remove: removalOf(DROP_TABLE, name) })),
    ...secrets
      .filter(({ Name, Description, ARN = '' }) =>
        Name?.startsWith(integrations)
          ? owned.size === 0 && !isElsewhere
          : Description?.startsWith(mark) && !owned.has(ARN),
      )
      .map(({ Name = '', Description = '' }) => ({
        what: Name.startsWith(integrations)
          ? `The secret ${Name} of an integration.`
          : `The secret ${Name} (${Description.slice(mark.length + 1)}).`,
        remove: `aws secretsmanager delete-secret --secret-id ${Name}`,
      })),
    ...letGo
      .filter(({ id, type }) => !owned.has(id) && !listed.has(id) && (!LISTED.test(type) || existing.has(id)))
      .map(({ what, remove, id }) => ({ what: `${what} ${id}.`, remove: removalOf(remove, id) })),
  ];
}

const DROP_TABLE =
  'aws dynamodb update-table --no-deletion-protection-enabled --table-name; aws dynamodb delete-table --table-name';

const removalOf = (commands: string, id: string): string =>
  commands
    .split('; ')
    .map((command) => `${command}${command.endsWith('//') ? '' : ' '}${id}`)
    .join('; ');

const REMOVALS: Readonly<Record<string, readonly [what: string, remove: string]>> = {
  // In nested stacks and under names of a team; the others are found without CloudFormation, too.
  'AWS::DynamoDB::Table': ['The table', DROP_TABLE],
  'AWS::SecretsManager::Secret': ['The secret', 'aws secretsmanager delete-secret --secret-id'],
  'AWS::KMS::Key': ['The key', 'aws kms schedule-key-deletion --pending-window-in-days 30 --key-id'],
  'AWS::Logs::LogGroup': ['The log group', 'aws logs delete-log-group --log-group-name'],
  'AWS::Cognito::UserPool': ['The user pool', 'aws cognito-idp delete-user-pool --user-pool-id'],
  'AWS::SQS::Queue': ['The queue', 'aws sqs delete-queue --queue-url'],
  'AWS::S3::Bucket': ['The bucket', 'aws s3 rb --force s3://'],
};

/** Of these AWS lists what is still there. */
const LISTED = /^AWS::(DynamoDB::Table|SecretsManager::Secret)$/;

/** What stacks of the name retained when they failed or were deleted; it may be removed by now. */
async function letGoBy(stack: string, access: Access) {
  const client = new CloudFormationClient(access);
  const found = new Map<string, { readonly id: string; readonly type: string; what: string; remove: string }>();
  const StackStatusFilter = ['DELETE_COMPLETE', 'DELETE_FAILED', 'ROLLBACK_COMPLETE', 'ROLLBACK_FAILED'] as const;
  for await (const { StackSummaries = [] } of paginateListStacks(
    { client },
    { StackStatusFilter: [...StackStatusFilter] },
  )) {
    for (const { StackId } of StackSummaries.filter((one) => isPartOf(stack, one))) {
      if (StackId === undefined) continue;
      for await (const { StackResourceSummaries = [] } of paginateListStackResources(
        { client },
        { StackName: StackId },
      )) {
        for (const { PhysicalResourceId: id, ResourceType = '', ResourceStatus } of StackResourceSummaries) {
          const [what, remove] = REMOVALS[ResourceType] ?? [];
          if (ResourceStatus !== 'DELETE_SKIPPED' || !id || what === undefined || remove === undefined) continue;
          found.set(id, { id, type: ResourceType, what, remove });
        }
      }
    }
  }
  return [...found.values()];
}

/** CloudFormation names a table `<stack>-<logical id>-<random>`; a table of `prod-eu` is none of `prod`. */
function isNamedBy(stack: string, table: string): boolean {
  return table.startsWith(`${stack}-`) && /^[^-]+-[^-]+$/.test(table.slice(stack.length + 1));
}

/** A nested stack names its outermost one by its ARN; those of parts have names after it (`stackPerPart`). */
function isPartOf(stack: string, { StackName, RootId = '' }: StackSummary): boolean {
  const names = [stack, `${stack}-console`, `${stack}-monitoring`];
  return [StackName, RootId.split('/')[1]].some((name) => names.includes(String(name)));
}

/** CloudFormation's own tag: the construct makes the same descriptions in a stack of any name. */
function isOfAnother(stack: string, { Tags = [] }: SecretListEntry): boolean {
  return Tags.some(({ Key, Value }) => Key === 'aws:cloudformation:stack-name' && Value !== stack);
}

/** Physical ids of what the stack and those whose names go on from its own still have. */
async function ownedBy(stack: string, access: Access): Promise<Set<string | undefined>> {
  const client = new CloudFormationClient(access);
  const owned = new Set<string | undefined>();
  for await (const { Stacks = [] } of paginateDescribeStacks({ client }, {})) {
    for (const { StackName = '' } of Stacks.filter((one) => `${one.StackName}-`.startsWith(`${stack}-`))) {
      for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
        for (const { PhysicalResourceId, ResourceStatus } of StackResourceSummaries) {
          // A stack that failed still names what it has let go.
          if (ResourceStatus !== 'DELETE_SKIPPED' && ResourceStatus !== 'DELETE_COMPLETE')
            owned.add(PhysicalResourceId);
        }
      }
    }
  }
  return owned;
}
