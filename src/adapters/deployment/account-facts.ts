import {
  CloudFormationClient,
  type CloudFormationClientConfig,
  DescribeStacksCommand,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { GetAccountSettingsCommand, LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';
import { GetAccountCommand, SESv2Client, type SESv2ClientConfig } from '@aws-sdk/client-sesv2';
import type { SNSClientConfig } from '@aws-sdk/client-sns';
import { createSenderFault } from '../ses-v2/sender-identity.ts';

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
  readonly ses?:
    | {
        readonly production: boolean;
        readonly sending: boolean;
        readonly per_day: number;
        /** Whether SES has verified the stage's sender, or its domain. */
        readonly knows_sender: boolean;
      }
    | undefined;
  /** The stack of the stage; absent before its first deployment. */
  readonly stack?:
    | { readonly name: string; readonly status: string; readonly is_protected: boolean; readonly outputs: Outputs }
    | undefined;
}

/** What every client is made with, so that all ask the same account and region. */
export type Access = Pick<CloudFormationClientConfig, 'credentials' | 'endpoint' | 'region'>;

export const BASE = { maxAttempts: 2 } as const;

/**
 * The region that the SDK itself takes: of AWS_REGION or of the profile. Undefined where neither names one, also where
 * AWS_DEFAULT_REGION does, which the SDK and thus the other commands do not read.
 */
async function regionOf(access: Access): Promise<string | undefined> {
  return new CloudFormationClient(access).config.region().catch(() => undefined);
}

/** What AWS says of an account, its region and a stack. @param sender of the stage; none without e-mail */
export async function readAccount(stack: string, sender = '', given: Access = {}): Promise<AccountFacts> {
  const region = await regionOf(given);
  if (region === undefined) return {};
  const access = { ...BASE, ...given, region };
  try {
    const [toolkit, own, console] = await Promise.all(
      ['CDKToolkit', stack, `${stack}-console`].map((name) => stackNamed(name, access)),
    );
    const [concurrency, ses] = await Promise.all([orUnknown(limitOf(access)), orUnknown(sesOf(sender, access))]);
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
          // A console in a stack of its own has its address there (`stackPerPart`).
          outputs: outputsOf(
            own,
            console?.Outputs?.filter(({ OutputKey }) => OutputKey === 'ConsoleUrl'),
          ),
        },
      }),
    };
  } catch (error) {
    return { region, refused: error instanceof Error ? error.message : String(error) };
  }
}

function outputsOf({ Outputs = [] }: Stack, more: Stack['Outputs'] = []): Outputs {
  return Object.fromEntries(
    [...Outputs, ...more].map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]),
  );
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

async function sesOf(sender: string, access: Access) {
  const client = new SESv2Client(access as SESv2ClientConfig);
  const account = await client.send(new GetAccountCommand({}));
  return {
    production: account.ProductionAccessEnabled === true,
    sending: account.SendingEnabled !== false,
    per_day: account.SendQuota?.Max24HourSend ?? 0,
    knows_sender: sender === '' || (await createSenderFault(client)(sender)) === undefined,
  };
}

/** A right that is missing hides one fact, and not the others. */
const orUnknown = <T>(read: Promise<T>): Promise<T | undefined> => read.catch(() => undefined);

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
