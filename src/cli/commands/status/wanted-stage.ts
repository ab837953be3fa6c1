import { basename } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { DEFAULT_STACK, STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import type { Network } from '../../../adapters/deployment/platform-facts.ts';
import type { Wanted } from '../../../application/preflight/finding.ts';
import { CHANNELS } from '../../../core/model/channels.ts';
import {
  isKeyed,
  type Keyed,
  OVERRIDE,
  overridden,
  overridesIn,
  STAGE_IN_TEMPLATE,
} from '../../../core/model/setting.ts';
import { EXIT_USAGE, OperatorError, unreadableFile } from '../../../terminal/errors.ts';

/** What the command line says of the stage. */
export interface Asked {
  /** The stack that NOTIFICATION_RETRY_STACK names. */
  readonly stack?: string | undefined;
  readonly context?: Keyed;
  /** The synthesized template of an app that configures the stage in code. */
  readonly template?: string | undefined;
}

export interface WantedStage {
  readonly stack: string;
  readonly wanted: Wanted;
  readonly sender: string;
}

const READS = [
  'preflight reads a stage from cdk.json, under context, notification-retry, stages:',
  `run it in the folder of that CDK app, with ${STACK_VARIABLE}=notification-retry-STAGE.`,
  'It reads a construct that is configured in code from its template: npx cdk synth, then',
  'npm run ops -- preflight --template cdk.out/STACK.template.json',
].join(' ');

/** @param read the text of a file */
export function wantedStage({ stack, context = {}, template }: Asked, read: (file: string) => string): WantedStage {
  if (template === undefined) {
    const name = stack ?? DEFAULT_STACK;
    const stage = name.replace(/^notification-retry-/, '');
    return { stack: name, ...partsOf(stageIn(jsonIn('cdk.json', read), context, stage), stage) };
  }
  if (Object.keys(context).length > 0) {
    throw new OperatorError('--template has the stage as it was synthesized: give -c to cdk synth.', EXIT_USAGE);
  }
  const { Metadata } = jsonIn(template, read);
  const given = isKeyed(Metadata) ? Metadata[STAGE_IN_TEMPLATE] : undefined;
  if (!isKeyed(given)) throw new OperatorError(`${template} is no template with a NotificationRetry. ${READS}`);
  return { stack: stack ?? basename(template, '.template.json'), ...partsOf(given, String(given['stage'])) };
}

function jsonIn(file: string, read: (file: string) => string): Keyed {
  try {
    const json: unknown = JSON.parse(read(file));
    return isKeyed(json) ? json : {};
  } catch (error) {
    const what = error instanceof SyntaxError ? `${file} is not JSON.` : unreadableFile(file, error);
    throw new OperatorError(`${what} ${READS}`);
  }
}

/** The settings that cdk.json and the command line give the stage, as the app reads them. */
function stageIn({ context: written }: Keyed, commandLine: Keyed, stage: string): Keyed {
  const context: Keyed = { ...(isKeyed(written) ? written : {}), ...commandLine };
  const { stage: chosen = stage } = commandLine;
  if (chosen !== stage) {
    const remedy = `set ${STACK_VARIABLE}=notification-retry-${chosen}`;
    throw new OperatorError(`-c stage=${chosen} is not the stage ${stage} of this stack: ${remedy}.`, EXIT_USAGE);
  }
  const root = context['notification-retry'];
  const stages = isKeyed(root) ? root['stages'] : undefined;
  const config = isKeyed(stages) ? stages[stage] : undefined;
  if (!isKeyed(config)) throw new OperatorError(`cdk.json has no stage ${stage}. ${READS}`);
  return overridden(config, overridesIn(context));
}

function partsOf(given: Keyed, stage: string): { readonly wanted: Wanted; readonly sender: string } {
  const { channels = CHANNELS, api = {}, newsletters = true, retain = stage === 'prod', console = 'off' } = given;
  if (!Array.isArray(channels)) {
    throw new OperatorError(`channels must be a list, such as ["email","webhook"], not ${JSON.stringify(channels)}.`);
  }
  const { accountLimit } = (given['reservedConcurrency'] ?? {}) as { readonly accountLimit?: number };
  const sender = String(given['senderAddress'] ?? '');
  const { senders = [] } = (given['newsletter'] ?? {}) as { readonly senders?: readonly string[] };
  const arn = (name: string) => given[name] as string | null | undefined;
  const wanted: Wanted = {
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
    vpc: given['vpc'] as Network | null | undefined,
    encryptionKeyArn: arn('encryptionKeyArn'),
    alarmTopicArn: arn('alarmTopicArn'),
  };
  return { wanted, sender };
}

/** Of cdk deploy's context what the app reads: another key would change nothing there, and is a mistake as a rule. */
export function addContext(text: string, before: Keyed = {}): Keyed {
  const [, key = '', given] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key !== 'stage' && !key.startsWith(OVERRIDE)) {
    throw new InvalidArgumentError(`It must be stage=STAGE, or a setting such as ${OVERRIDE}api=false.`);
  }
  return { ...before, [key]: given };
}
