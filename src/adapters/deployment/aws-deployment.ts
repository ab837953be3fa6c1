import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as v from 'valibot';
import { CHANNELS, type Channel, LANES } from '../../core/model/channels.ts';
import { HistoryUnavailableError, type MetricHistory } from '../../core/operator/views/outcome-series.ts';
import { createSecretsManagerSource } from '../secrets/secrets-manager.ts';
import { type Deployment, DeploymentNotFoundError } from './deployment.ts';
import { openSealer, operatorsKms } from './deployment-clients.ts';
import { findLocalDeployment } from './local-deployment.ts';
import {
  LACKS,
  ofStage,
  PART_TABLE_OUTPUTS,
  SETTING_OUTPUTS,
  settingsIn,
  TABLE_OUTPUTS,
  tablesIn,
} from './stage-parts.ts';

const text = v.pipe(v.string(), v.minLength(1));
const json = <T extends v.GenericSchema>(schema: T) => v.pipe(v.string(), v.parseJson(), schema);

/** The outputs of the stack, by name (lib/constructs/outputs.ts). */
const outputs = v.object({
  ...v.entriesFromList(Object.values(TABLE_OUTPUTS), text),
  ...v.entriesFromList(Object.values(PART_TABLE_OUTPUTS), v.optional(text)),
  LaneQueues: json(v.object(v.entriesFromList(CHANNELS, v.optional(v.object(v.entriesFromList(LANES, text)))))),
  DeadLetterQueues: json(v.object(v.entriesFromList(CHANNELS, v.optional(text)))),
  ...SETTING_OUTPUTS,
  DataKeysTable: text,
  RecipientKey: text,
  /** Absent from stacks that were deployed before operators could search by recipient. */
  RecipientHashSecret: v.optional(text),
  /** Absent from stacks that were deployed before there was a reconciler. */
  ReconcilerFunction: v.optional(text),
  /** Absent from stacks that were deployed before operators could correct notifications. */
  IntegrationSecretPrefix: v.optional(text),
  /** Absent from a stage without monitoring. */
  MetricNamespace: v.optional(text),
});

/** The environment variable that names the stack, if it is not that of the stage `dev`. */
export const STACK_VARIABLE = 'NOTIFICATION_RETRY_STACK';
export const DEFAULT_STACK = 'notification-retry-dev';

/**
 * The deployment that a command works on: with `--local` the running local runtime of the current directory, otherwise
 * the one in AWS that the environment names.
 * @throws DeploymentNotFoundError
 */
export function findDeployment(local: boolean): Promise<Deployment> {
  return local ? findLocalDeployment(process.cwd()) : findAwsDeployment(process.env);
}

/**
 * Finds the deployment in the AWS account and region of the environment by the outputs of its stack.
 * @throws DeploymentNotFoundError when the stack does not exist, cannot be read, or belongs to another application
 */
async function findAwsDeployment(env: NodeJS.ProcessEnv): Promise<Deployment> {
  const stack = env[STACK_VARIABLE] ?? DEFAULT_STACK;
  const found = await describeOutputs(stack);
  const parsed = v.safeParse(outputs, found);
  if (!parsed.success) {
    const missing = parsed.issues.map((issue) => v.getDotPath(issue)).join(', ');
    throw new DeploymentNotFoundError(
      `The stack ${stack} lacks outputs of notification-retry: ${missing}. Deploy it anew.`,
    );
  }
  const rest = parsed.output;
  return {
    tables: tablesIn(found),
    lane_queues: rest.LaneQueues,
    dead_letter_queues: ofStage(CHANNELS, rest.DeadLetterQueues, LACKS.channel),
    ...settingsIn(rest),
    recipientHashKey: () => readHashKey(stack, rest.RecipientHashSecret),
    integrations: (channel) => openIntegrations(stack, rest.IntegrationSecretPrefix, channel),
    operator: async () => (await import('./caller-identity.ts')).callerIdentity(env),
    ...(rest.ReconcilerFunction !== undefined && { reconciler: rest.ReconcilerFunction }),
    metricHistory: () => openHistory(stack, rest.MetricNamespace),
    sealer: openSealer(operatorsKms(rest.RecipientKey), rest.DataKeysTable),
    clients: { dynamodb: {}, sqs: {}, lambda: {} },
  };
}

/** Its client is loaded on use: the other commands do without. */
async function openHistory(stack: string, namespace: string | undefined): Promise<MetricHistory> {
  if (namespace === undefined) {
    throw new HistoryUnavailableError(LACKS.monitoring, `Deploy ${stack} with monitoring.`);
  }
  return (await import('../metric-history/cloudwatch-history.ts')).openMetricHistory(namespace);
}

async function openIntegrations(stack: string, prefix: string | undefined, channel: Channel) {
  if (prefix === undefined) {
    throw new DeploymentNotFoundError(`The stack ${stack} has no output IntegrationSecretPrefix: deploy it anew.`);
  }
  const { createIntegrationCredentials } = await import('../secrets/integration-credentials.ts');
  return createIntegrationCredentials(createSecretsManagerSource(), { prefix: `${prefix}${channel}/` });
}

async function readHashKey(stack: string, secret: string | undefined): Promise<string> {
  if (secret === undefined) {
    throw new DeploymentNotFoundError(
      `The stack ${stack} has no output RecipientHashSecret, by which recipients are found: deploy it anew.`,
    );
  }
  const key = await createSecretsManagerSource().get(secret);
  if (key === undefined) throw new DeploymentNotFoundError(`The stack ${stack}'s secret ${secret} is gone.`);
  return key;
}

async function describeOutputs(StackName: string): Promise<Record<string, string | undefined>> {
  try {
    const { Stacks = [] } = await new CloudFormationClient({ maxAttempts: 2 }).send(
      new DescribeStacksCommand({ StackName }),
    );
    return Object.fromEntries(
      (Stacks[0]?.Outputs ?? []).map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue]),
    );
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown error';
    throw new DeploymentNotFoundError(
      `The stack ${StackName} cannot be read: ${reason}. Sign in to its account, set AWS_REGION, name another stack with ` +
        `${STACK_VARIABLE}, or use --local for the local runtime.`,
      { cause },
    );
  }
}
