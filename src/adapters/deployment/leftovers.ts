import {
  CloudFormationClient,
  paginateDescribeStacks,
  paginateListStackResources,
  paginateListStacks,
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
 * What a stack of this name has left, and no stack owns: tables and secrets by their names; the others,
 * whose names do not tell whose they are, by what CloudFormation remembers for 90 days.
 */
export async function readLeftovers(stack: string, given: Access = {}): Promise<Leftover[]> {
  const [{ DynamoDBClient, paginateListTables }, { SecretsManagerClient, paginateListSecrets }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('@aws-sdk/client-secrets-manager'),
  ]);
  const access: Access = { ...BASE, ...given };
  const tables: string[] = [];
  const dynamodb = new DynamoDBClient(access as DynamoDBClientConfig);
  for await (const { TableNames = [] } of paginateListTables({ client: dynamodb }, {})) {
    tables.push(...TableNames.filter((name) => isNamedBy(stack, name)));
  }
  const mark = `${stack.replace(/^notification-retry-/, 'notification-retry ')}:`;
  const secrets: SecretListEntry[] = [];
  const manager = new SecretsManagerClient(access as SecretsManagerClientConfig);
  for await (const { SecretList = [] } of paginateListSecrets({ client: manager }, {})) {
    secrets.push(...SecretList.filter((one) => one.Description?.startsWith(mark) && !isOfAnother(stack, one)));
  }
  const letGo = await letGoBy(stack, access);
  // Read last: what a deployment makes meanwhile is owned by then.
  const owned = await ownedBy(stack, access);
  return [
    ...tables
      .filter((name) => !owned.has(name))
      .map((name) => {
        const unprotect = `aws dynamodb update-table --no-deletion-protection-enabled --table-name ${name}`;
        return { what: `The table ${name}.`, remove: `${unprotect}; aws dynamodb delete-table --table-name ${name}` };
      }),
    ...secrets
      .filter(({ ARN = '' }) => !owned.has(ARN))
      .map(({ Name = '', Description = '' }) => ({
        what: `The secret ${Name} (${Description.slice(mark.length + 1)}).`,
        remove: `aws secretsmanager delete-secret --secret-id ${Name}`,
      })),
    ...letGo
      .filter(({ id }) => !owned.has(id))
      .map(({ what, remove, id }) => ({ what: `${what} ${id}.`, remove: `${remove} ${id}` })),
  ];
}

const REMOVALS: Readonly<Record<string, readonly [what: string, remove: string]>> = {
  'AWS::KMS::Key': ['The key', 'aws kms schedule-key-deletion --pending-window-in-days 30 --key-id'],
  'AWS::Logs::LogGroup': ['The log group', 'aws logs delete-log-group --log-group-name'],
  'AWS::Cognito::UserPool': ['The user pool', 'aws cognito-idp delete-user-pool --user-pool-id'],
  'AWS::SQS::Queue': ['The queue', 'aws sqs delete-queue --queue-url'],
};

/** What stacks of the name retained when they failed or were deleted; it may be removed by now. */
async function letGoBy(stack: string, access: Access) {
  const client = new CloudFormationClient(access);
  const found = new Map<string, { readonly id: string; readonly what: string; readonly remove: string }>();
  const StackStatusFilter = ['DELETE_COMPLETE', 'DELETE_FAILED', 'ROLLBACK_COMPLETE', 'ROLLBACK_FAILED'] as const;
  for await (const { StackSummaries = [] } of paginateListStacks(
    { client },
    { StackStatusFilter: [...StackStatusFilter] },
  )) {
    for (const { StackId } of StackSummaries.filter(({ StackName }) => StackName === stack)) {
      if (StackId === undefined) continue;
      for await (const { StackResourceSummaries = [] } of paginateListStackResources(
        { client },
        { StackName: StackId },
      )) {
        for (const { PhysicalResourceId: id, ResourceType = '', ResourceStatus } of StackResourceSummaries) {
          const [what, remove] = REMOVALS[ResourceType] ?? [];
          if (ResourceStatus !== 'DELETE_SKIPPED' || !id || what === undefined || remove === undefined) continue;
          found.set(id, { id, what, remove });
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
