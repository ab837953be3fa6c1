import { CloudFormationClient, DescribeStacksCommand, type Stack } from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetAccountCommand, SESv2Client } from '@aws-sdk/client-sesv2';

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
  readonly stack?: { readonly name: string; readonly status: string; readonly is_protected: boolean } | undefined;
}

const CLIENT = { maxAttempts: 2 } as const;

/** What AWS says of the account and region of the environment, and of a stack in it. It changes nothing. */
export async function readAccount(
  stack: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<AccountFacts> {
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'];
  if (region === undefined) return {};
  try {
    const [toolkit, own] = await Promise.all([stackNamed('CDKToolkit', region), stackNamed(stack, region)]);
    const [concurrency, ses] = await Promise.all([orUnknown(limitOf(region)), orUnknown(sesOf(region))]);
    const version = toolkit?.Outputs?.find(({ OutputKey }) => OutputKey === 'BootstrapVersion')?.OutputValue;
    return {
      region,
      bootstrap: Number(version ?? 0),
      concurrency,
      ses,
      ...(own && {
        stack: { name: stack, status: String(own.StackStatus), is_protected: own.EnableTerminationProtection === true },
      }),
    };
  } catch (error) {
    return { region, refused: error instanceof Error ? error.message : String(error) };
  }
}

/** Undefined where there is none. @throws Error of the SDK that says why AWS did not answer */
async function stackNamed(StackName: string, region: string): Promise<Stack | undefined> {
  const client = new CloudFormationClient({ ...CLIENT, region });
  try {
    return (await client.send(new DescribeStacksCommand({ StackName }))).Stacks?.[0];
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}

async function limitOf(region: string): Promise<number | undefined> {
  const { AccountLimit } = await new LambdaClient({ ...CLIENT, region }).send(new GetAccountSettingsCommand({}));
  return AccountLimit?.ConcurrentExecutions;
}

async function sesOf(region: string) {
  const account = await new SESv2Client({ ...CLIENT, region }).send(new GetAccountCommand({}));
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

export interface Leftover {
  readonly what: string;
  /** The command that removes it. */
  readonly remove: string;
}

/** Tables and secrets that a stack of this name has left; keys and logs have no name that tells whose they are. */
export async function readLeftovers(stack: string): Promise<Leftover[]> {
  const [{ DynamoDBClient, paginateListTables }, { SecretsManagerClient, paginateListSecrets }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('@aws-sdk/client-secrets-manager'),
  ]);
  const left: Leftover[] = [];
  for await (const { TableNames = [] } of paginateListTables({ client: new DynamoDBClient(CLIENT) }, {})) {
    for (const name of TableNames.filter((one) => one.startsWith(`${stack}-`))) {
      const unprotect = `aws dynamodb update-table --no-deletion-protection-enabled --table-name ${name}`;
      left.push({ what: `The table ${name}.`, remove: `${unprotect}; aws dynamodb delete-table --table-name ${name}` });
    }
  }
  const mark = `${stack.replace(/^notification-retry-/, 'notification-retry ')}:`;
  for await (const { SecretList = [] } of paginateListSecrets({ client: new SecretsManagerClient(CLIENT) }, {})) {
    for (const { Name = '', Description = '' } of SecretList.filter((one) => one.Description?.startsWith(mark))) {
      const remove = `aws secretsmanager delete-secret --secret-id ${Name}`;
      left.push({ what: `The secret ${Name} (${Description.slice(mark.length + 1)}).`, remove });
    }
  }
  return left;
}
