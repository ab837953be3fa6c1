import { readFileSync } from 'node:fs';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Command } from 'commander';
import type { Outputs, readAccount, readTies, Ties } from '../../../adapters/deployment/account-facts.ts';
import { DEFAULT_STACK, STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import { createDeploymentClients } from '../../../adapters/deployment/deployment-clients.ts';
import type { readLeftovers } from '../../../adapters/deployment/leftovers.ts';
import type { readPlatform } from '../../../adapters/deployment/platform-facts.ts';
import { createShardMark } from '../../../adapters/dynamodb/indexing/shard-mark.ts';
import { ACTIVE_EMAILS_INDEX } from '../../../adapters/dynamodb/schema.ts';
import { createDueIndex } from '../../../adapters/dynamodb/sweep/sweep-stores.ts';
import { scan } from '../../../adapters/dynamodb/table/reads.ts';
import { queueCounts } from '../../../adapters/sqs/lanes.ts';
import type { OperatorDeps } from '../../../application/deps.ts';
import { listKeys } from '../../../application/keys.ts';
import type { Finding, Holdings } from '../../../application/preflight/finding.ts';
import { isReadable, preflight } from '../../../application/preflight/preflight.ts';
import { type Channel, channelsIn } from '../../../core/model/channels.ts';
import { OVERRIDE } from '../../../core/model/setting.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import { laneStatus } from '../../../core/operator/views/pipeline-status.ts';
import { describeCommand } from '../../../terminal/command.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import type { CliContext } from '../../session/session.ts';
import { type Asked, addContext, wantedStage } from './wanted-stage.ts';

export interface PreflightPorts {
  readonly account: typeof readAccount;
  readonly leftovers: typeof readLeftovers;
  readonly ties: typeof readTies;
  readonly platform: typeof readPlatform;
  readonly read: (file: string) => string;
}

/** Before a deployment, and after it: it changes nothing, and needs neither a stack nor rights to one. */
export function addPreflight(parent: Command, context: CliContext, ports: PreflightPorts = onThisMachine()): void {
  const command = describeCommand(parent, PREFLIGHT, {});
  command.option('-c, --context <KEY=VALUE>', 'as for cdk deploy; repeat the option for several', addContext);
  command.action(async (options: Pick<Asked, 'context' | 'template'> & { json?: boolean; leftovers?: boolean }) => {
    const stack = context.env[STACK_VARIABLE];
    const findings = options.leftovers
      ? (await ports.leftovers(stack ?? DEFAULT_STACK)).map(
          ({ what, remove }): Finding => ({ check: 'leftover', state: 'warning', says: what, remedy: remove }),
        )
      : await findingsOf({ stack, context: options.context ?? {}, template: options.template }, context, ports);
    printResult({ terminal: context.terminal, json: options.json === true }, { findings }, () =>
      findings.length === 0
        ? 'Nothing is left.\n'
        : table(findings, ['check', 'state', ['what is', 'says'], ['what to do', 'remedy']]),
    );
    context.exitWith(findings.some(({ state }) => state === 'refused') ? 1 : 0);
  });
}

const PREFLIGHT = {
  name: 'preflight',
  says: 'check whether the stage can be deployed to this account and region, and what the deployment would delete',
  options: {
    '--json': 'print JSON on stdout',
    '--template <FILE>': 'a template that cdk synth has written, for an app that configures the stage in code',
    '--leftovers': 'list what a deleted or failed stack has left behind, and how to remove it',
  },
  help: `
Checks region, credentials, CDK bootstrap, Lambda's concurrency limit, SES, the stack, your network, key and topic, and
what a change of the stage's parts would delete. Pass each -c that you pass to cdk deploy. Exit code 1: the deployment
would be refused.

Examples:
  ${STACK_VARIABLE}=notification-retry-prod npm run ops -- preflight -c ${OVERRIDE}api=false
  npm run ops -- preflight --template cdk.out/Messaging.template.json`,
} as const;

function onThisMachine(): PreflightPorts {
  const module = () => import('../../../adapters/deployment/account-facts.ts');
  return {
    account: async (...given) => (await module()).readAccount(...given),
    leftovers: async (...given) => (await import('../../../adapters/deployment/leftovers.ts')).readLeftovers(...given),
    ties: async (...given) => (await module()).readTies(...given),
    platform: async (...given) =>
      (await import('../../../adapters/deployment/platform-facts.ts')).readPlatform(...given),
    read: (file) => readFileSync(file, 'utf8'),
  };
}

async function findingsOf(asked: Asked, context: CliContext, ports: PreflightPorts): Promise<Finding[]> {
  const { stack, wanted, sender } = wantedStage(asked, ports.read);
  const facts = await ports.account(stack, sender);
  const { stack: { outputs = {} } = {}, refused } = facts;
  const platform = facts.region === undefined || refused !== undefined ? {} : await ports.platform(wanted);
  const deployed = isReadable(facts.stack) ? await deployedParts(context, outputs, ports) : undefined;
  return preflight({ ...facts, platform }, wanted, deployed);
}

async function deployedParts({ findDeployment, clock }: CliContext, outputs: Outputs, { ties }: PreflightPorts) {
  const deployment = await findDeployment(false);
  const clients = createDeploymentClients(deployment);
  try {
    return await holdingsOf({ deployment, ...clients, clock }, outputs, await ties(outputs));
  } finally {
    clients.destroy();
  }
}

const OF_NEWSLETTERS = ['newsletters', 'members', 'emails', 'email_batches', 'email_recipients'] as const;

/** What a change of the stage's parts would drop. */
async function holdingsOf(
  { deployment, dynamodb, sqs, clock }: Pick<OperatorDeps, 'deployment' | 'dynamodb' | 'sqs' | 'clock'>,
  outputs: Outputs,
  ties: Ties,
): Promise<Holdings> {
  const { tables, lane_queues, newsletter_queues } = deployment;
  const channels = channelsIn(lane_queues);
  const mark = createShardMark(dynamodb, tables.pipeline_state);
  const index = createDueIndex(dynamodb, tables.notification_log, async () => (await mark.read()).work);
  const lettersIn = async (url: string) => {
    const { visible, in_flight } = await queueCounts(sqs, url);
    return visible + in_flight;
  };
  const { lanes } = await laneStatus({ index, channels, inFlight: async () => 0, now: clock() });
  const work: { [C in Channel]?: number } = {};
  for (const channel of channels) {
    const own = lanes.filter((lane) => lane.channel === channel);
    const inIndex = own.reduce((sum, { due, waiting, dead }) => sum + due + waiting + dead, 0);
    // A dead row has a letter as a rule.
    work[channel] = Math.max(inIndex, await lettersIn(deployment.dead_letter_queues[channel]));
  }
  const has = (table: keyof typeof tables) => Object.keys(tables).includes(table);
  const holdsAny = async (TableName: string, IndexName?: string) =>
    ((await dynamodb.send(new ScanCommand({ TableName, IndexName, Limit: 1 }))).Count ?? 0) > 0;
  const holds = async (table: keyof typeof tables, IndexName?: string) =>
    has(table) && (await holdsAny(tables[table], IndexName));
  const mailings = (await Promise.all(OF_NEWSLETTERS.map((table) => holds(table)))).includes(true);
  const writing = has('newsletters') ? await allNewsletters(dynamodb, tables.newsletters) : [];
  const queues = Object.values(newsletter_queues);
  const messages = await Promise.all(queues.map(lettersIn));
  const unfinished = messages.some((count) => count > 0) || (await holds('emails', ACTIVE_EMAILS_INDEX));
  const shown = has('api_keys') ? await listKeys(undefined, { dynamodb, deployment, clock }) : [];
  const keys = shown.some(({ state }) => state === 'valid');
  const newsletters = has('members') && (queues.length > 0 || 'data');
  const { OutcomesFailures, AlertsTopic, ConsoleUrl, DataKeysTable } = outputs;
  return {
    channels,
    work,
    api: has('api_keys'),
    newsletters,
    writing,
    mailings,
    unfinished,
    keys,
    outcomes: OutcomesFailures !== undefined,
    monitoring: AlertsTopic !== undefined,
    console: ConsoleUrl !== undefined,
    sealed: DataKeysTable !== undefined && (await holdsAny(DataKeysTable)),
    // One key for all: the team's.
    encryptionKeyArn: outputs['DataKey'] === outputs['RecipientKey'] ? outputs['DataKey'] : undefined,
    untold: OutcomesFailures === undefined ? 0 : await lettersIn(OutcomesFailures),
    ties,
  };
}

/** The senders of tenants are items of the table, too. */
async function allNewsletters(client: OperatorDeps['dynamodb'], TableName: string): Promise<Newsletter[]> {
  const found: Newsletter[] = [];
  for (let after: object | undefined | null = null; after !== undefined; ) {
    const { items, next } = await scan(client, { TableName }, after);
    found.push(...items.map((item) => unmarshall(item) as Newsletter).filter(({ from }) => from !== undefined));
    after = next;
  }
  return found;
}
