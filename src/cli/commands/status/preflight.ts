import { readFileSync } from 'node:fs';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type Command, InvalidArgumentError } from 'commander';
import type { Outputs, readAccount, readTies, Ties } from '../../../adapters/deployment/account-facts.ts';
import { DEFAULT_STACK, STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import { createDeploymentClients } from '../../../adapters/deployment/deployment-clients.ts';
import type { readLeftovers } from '../../../adapters/deployment/leftovers.ts';
import { createShardMark } from '../../../adapters/dynamodb/indexing/shard-mark.ts';
import { ACTIVE_EMAILS_INDEX } from '../../../adapters/dynamodb/schema.ts';
import { createDueIndex } from '../../../adapters/dynamodb/sweep/due-index.ts';
import { scan } from '../../../adapters/dynamodb/table/reads.ts';
import { queueCounts } from '../../../adapters/sqs/lanes.ts';
import type { OperatorDeps } from '../../../application/deps.ts';
import { listKeys } from '../../../application/keys.ts';
import { type Finding, type Holdings, isReadable, preflight, type Wanted } from '../../../application/preflight.ts';
import { CHANNELS, type Channel, channelsIn } from '../../../core/model/channels.ts';
import { isKeyed, type Keyed, OVERRIDE, overridden, overridesIn } from '../../../core/model/setting.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import { laneStatus } from '../../../core/operator/views/pipeline-status.ts';
import { describeCommand } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError, unreadableFile } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import type { CliContext } from '../../session/session.ts';

export interface PreflightPorts {
  readonly account: typeof readAccount;
  readonly leftovers: typeof readLeftovers;
  readonly ties: typeof readTies;
  readonly cdkJson: () => string;
}

/** Before a deployment, and after it: it changes nothing, and needs neither a stack nor rights to one. */
export function addPreflight(parent: Command, context: CliContext, ports: PreflightPorts = onThisMachine()): void {
  const command = describeCommand(parent, PREFLIGHT, {});
  command.option('-c, --context <KEY=VALUE>', 'as cdk deploy takes it; may be repeated', addContext);
  command.action(async (options: { json?: boolean; leftovers?: boolean; context?: Keyed }) => {
    const stack = context.env[STACK_VARIABLE] ?? DEFAULT_STACK;
    const findings = options.leftovers
      ? (await ports.leftovers(stack)).map(
          ({ what, remove }): Finding => ({ check: 'leftover', state: 'warning', says: what, remedy: remove }),
        )
      : await findingsOf(stack, options.context ?? {}, context, ports);
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
  says: 'say whether the stage can be deployed to this account and region, and what that would lose',
  options: {
    '--json': 'print JSON on stdout',
    '--leftovers': 'list what a stack that failed or was deleted has left, and how to remove it',
  },
  help: `
It looks at region, credentials, the CDK's bootstrap, Lambda's limit, SES, the stack, and at what a change of the stage's
parts in cdk.json would drop. It ends with 1 if something is refused. Give it each -c of the deployment.

Example:
  ${STACK_VARIABLE}=notification-retry-prod npm run ops -- preflight -c ${OVERRIDE}api=false`,
} as const;

/** Of cdk deploy's context what the app reads: another key would change nothing there, and is a mistake as a rule. */
function addContext(text: string, before: Keyed = {}): Keyed {
  const [, key = '', given] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key !== 'stage' && !key.startsWith(OVERRIDE)) {
    throw new InvalidArgumentError(`It must be stage=STAGE, or a setting such as ${OVERRIDE}api=false.`);
  }
  return { ...before, [key]: given };
}

function onThisMachine(): PreflightPorts {
  const module = () => import('../../../adapters/deployment/account-facts.ts');
  return {
    account: async (...given) => (await module()).readAccount(...given),
    leftovers: async (...given) => (await import('../../../adapters/deployment/leftovers.ts')).readLeftovers(...given),
    ties: async (...given) => (await module()).readTies(...given),
    cdkJson: () => readFileSync('cdk.json', 'utf8'),
  };
}

async function findingsOf(stack: string, given: Keyed, context: CliContext, ports: PreflightPorts): Promise<Finding[]> {
  const { sender, ...wanted } = partsIn(ports.cdkJson, given, stack.replace(/^notification-retry-/, ''));
  const facts = await ports.account(stack, sender);
  const { stack: { outputs = {} } = {} } = facts;
  return preflight(facts, wanted, isReadable(facts.stack) ? await deployedParts(context, outputs, ports) : undefined);
}

const READS = [
  'preflight knows a stage only from cdk.json, under context, notification-retry, stages:',
  `run it in the folder of that CDK app, with ${STACK_VARIABLE}=notification-retry-STAGE.`,
  'It cannot read a construct that is configured in code.',
].join(' ');

function contextIn(cdkJson: PreflightPorts['cdkJson']): Keyed {
  try {
    const { context } = JSON.parse(cdkJson()) ?? {};
    return isKeyed(context) ? context : {};
  } catch (error) {
    const what = error instanceof SyntaxError ? 'cdk.json is not JSON.' : unreadableFile('cdk.json', error);
    throw new OperatorError(`${what} ${READS}`);
  }
}

/** The parts that cdk.json and the command line give the stage, as the app reads them. */
function partsIn(
  cdkJson: PreflightPorts['cdkJson'],
  commandLine: Keyed,
  stage: string,
): Wanted & { readonly sender: string } {
  const context = { ...contextIn(cdkJson), ...commandLine };
  const { stage: chosen = stage } = commandLine;
  if (chosen !== stage) {
    const remedy = `set ${STACK_VARIABLE}=notification-retry-${chosen}`;
    throw new OperatorError(`-c stage=${chosen} is not the stage ${stage} of this stack: ${remedy}.`, EXIT_USAGE);
  }
  const root = context['notification-retry'];
  const stages = isKeyed(root) ? root['stages'] : undefined;
  const config = isKeyed(stages) ? stages[stage] : undefined;
  if (!isKeyed(config)) throw new OperatorError(`cdk.json has no stage ${stage}. ${READS}`);
  const given = overridden(config, overridesIn(context));
  const { channels = CHANNELS, api = {}, newsletters = true, retain = stage === 'prod', console = 'off' } = given;
  if (!Array.isArray(channels)) {
    throw new OperatorError(`channels must be a list, such as ["email","webhook"], not ${JSON.stringify(channels)}.`);
  }
  const { accountLimit } = (given['reservedConcurrency'] ?? {}) as { readonly accountLimit?: number };
  const sender = String(given['senderAddress'] ?? '');
  const { senders = [] } = (given['newsletter'] ?? {}) as { readonly senders?: readonly string[] };
  return {
    sender,
    newsletter_senders: senders.length > 0 ? senders : [sender.replace(/^.*@/, '*@')],
    outcomes: given['outcomes'] === true,
    monitoring: given['monitoring'] !== 'off',
    account_limit: accountLimit,
    channels: CHANNELS.filter((channel) => channels.includes(channel)),
    api: api !== false,
    newsletters: newsletters === 'data' ? 'data' : newsletters !== false,
    stage,
    retain: retain === true,
    console: console !== 'off',
  };
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
  const rows = await laneStatus({ index, channels, inFlight: async () => 0, now: clock() });
  const work: { [C in Channel]?: number } = {};
  for (const channel of channels) {
    const own = rows.filter((lane) => lane.channel === channel);
    const inIndex = own.reduce((sum, { due, waiting, dead }) => sum + due + waiting + dead, 0);
    // A dead row has a letter as a rule.
    work[channel] = Math.max(inIndex, await lettersIn(deployment.dead_letter_queues[channel]));
  }
  const has = (table: keyof typeof tables) => Object.keys(tables).includes(table);
  const holds = async (table: keyof typeof tables, IndexName?: string) =>
    has(table) &&
    ((await dynamodb.send(new ScanCommand({ TableName: tables[table], IndexName, Limit: 1 }))).Count ?? 0) > 0;
  const mailings = (await Promise.all(OF_NEWSLETTERS.map((table) => holds(table)))).includes(true);
  const writing = has('newsletters') ? await allNewsletters(dynamodb, tables.newsletters) : [];
  const queues = Object.values(newsletter_queues);
  const messages = await Promise.all(queues.map(lettersIn));
  const unfinished = messages.some((count) => count > 0) || (await holds('emails', ACTIVE_EMAILS_INDEX));
  const shown = has('api_keys') ? await listKeys(undefined, { dynamodb, deployment, clock }) : [];
  const keys = shown.some(({ state }) => state === 'valid');
  const newsletters = has('members') && (queues.length > 0 || 'data');
  const { OutcomesFailures, AlertsTopic, ConsoleUrl } = outputs;
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
