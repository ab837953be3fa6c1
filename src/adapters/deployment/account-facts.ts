import {
  CloudFormationClient,
  type CloudFormationClientConfig,
  DescribeStacksCommand,
  paginateDescribeStacks,
  paginateListStackResources,
  paginateListStacks,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { GetAccountSettingsCommand, LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';
import type { SecretListEntry, SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { GetAccountCommand, SESv2Client, type SESv2ClientConfig } from '@aws-sdk/client-sesv2';
import type { SNSClientConfig } from '@aws-sdk/client-sns';

/** A stack's outputs by name; none before its first deployment is through. */
export type Outputs = Readonly<Record<string, string>>;

/** What an account says of itself, as far as it could be asked. */
export interface AccountFacts {
  readonly region?: string | undefined;
  /** Why AWS refused to be asked. Nothing else is known then. */
  readonly refused?: string | undefined;
  /** Version of the CDK's bootstrap stack; 0: there is none. */
  readonly bootstrap?: number | undefined;
  /** Concurrent executions of Lambda that the account may have. */
  readonly concurrency?: number | undefined;
  readonly ses?: { readonly production: boolean; readonly sending: boolean; readonly per_day: number } | undefined;
  /** The stack of the stage; absent before its first deployment. */
  readonly stack?:
    | { readonly name: string; readonly status: string; readonly is_protected: boolean; readonly outputs: Outputs }
    | undefined;
}

/** What every client is made with, so that all ask the same account and region. */
export type Access = Pick<CloudFormationClientConfig, 'credentials' | 'endpoint' | 'region'>;

const BASE = { maxAttempts: 2 } as const;

/**
 * The region that the SDK itself takes: of AWS_REGION or of the profile. Undefined where neither names one, also where
 * AWS_DEFAULT_REGION does, which the SDK and thus the other commands do not read.
 */
async function regionOf(access: Access): Promise<string | undefined> {
  return new CloudFormationClient(access).config.region().catch(() => undefined);
}

/** What AWS says of the account and region of the environment, and of a stack in it. It changes nothing. */
export async function readAccount(stack: string, given: Access = {}): Promise<AccountFacts> {
  const region = await regionOf(given);
  if (region === undefined) return {};
  const access = { ...BASE, ...given, region };
  try {
    const [toolkit, own] = await Promise.all([stackNamed('CDKToolkit', access), stackNamed(stack, access)]);
    const [concurrency, ses] = await Promise.all([orUnknown(limitOf(access)), orUnknown(sesOf(access))]);
    const version = toolkit?.Outputs?.find(({ OutputKey }) => OutputKey === 'BootstrapVersion')?.OutputValue;
    return {
      region,
      bootstrap: Number(version ?? 0),
      concurrency,
      ses,
      ...(own && {
        stack: {
          name: stack,
          status: String(own.StackStatus),
          is_protected: own.EnableTerminationProtection === true,
          outputs: Object.fromEntries(
            (own.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]),
          ),
        },
      }),
    };
  } catch (error) {
    return { region, refused: error instanceof Error ? error.message : String(error) };
  }
}

/** Undefined where there is none. @throws Error of the SDK that says why AWS did not answer */
async function stackNamed(StackName: string, access: Access): Promise<Stack | undefined> {
  const client = new CloudFormationClient(access);
  try {
    return (await client.send(new DescribeStacksCommand({ StackName }))).Stacks?.[0];
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}

async function limitOf(access: Access): Promise<number | undefined> {
  const { AccountLimit } = await new LambdaClient(access as LambdaClientConfig).send(new GetAccountSettingsCommand({}));
  return AccountLimit?.ConcurrentExecutions;
}

async function sesOf(access: Access) {
  const account = await new SESv2Client(access as SESv2ClientConfig).send(new GetAccountCommand({}));
  return {
    production: account.ProductionAccessEnabled === true,
    sending: account.SendingEnabled !== false,
    per_day: account.SendQuota?.Max24HourSend ?? 0,
  };
}

/** A right that is missing hides one fact, and not the others. */
function orUnknown<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(() => undefined);
}

/** What others have tied to the stack's bus of outcomes and to its topic of alarms. */
export interface Ties {
  readonly rules: readonly string[];
  readonly subscribers: number;
}

/** At most a hundred of each: enough to say that there are some. */
export async function readTies({ OutcomesBus, AlertsTopic }: Outputs, given: Access = {}): Promise<Ties> {
  const [{ EventBridgeClient, ListRulesCommand }, { SNSClient, ListSubscriptionsByTopicCommand }] = await Promise.all([
    import('@aws-sdk/client-eventbridge'),
    import('@aws-sdk/client-sns'),
  ]);
  const access = { ...BASE, ...given };
  const events = new EventBridgeClient(access as EventBridgeClientConfig);
  const sns = new SNSClient(access as SNSClientConfig);
  const { Rules = [] } =
    (OutcomesBus && (await events.send(new ListRulesCommand({ EventBusName: OutcomesBus })))) || {};
  const { Subscriptions = [] } =
    (AlertsTopic && (await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: AlertsTopic })))) || {};
  return { rules: Rules.map(({ Name = '' }) => Name), subscribers: Subscriptions.length };
}

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
