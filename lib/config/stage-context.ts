import type { Node } from 'constructs';
import { parseStageConfig, type StageConfig, StageConfigError } from './stage-config.ts';

const ROOT = 'notification-retry';
const OVERRIDE = `${ROOT}.`;

type Keyed = Readonly<Record<string, unknown>>;

/**
 * Reads a stage's configuration from the CDK context, cdk.json's `"notification-retry": {"stages": {"<name>": {}}}`.
 * `-c stage=<name>` chooses the stage; the default is `dev`. The command line can replace single values by their path,
 * as in `-c notification-retry.concurrency.slack.express=3`.
 * @throws StageConfigError with all faults at once; each message has the value's path in the context
 */
export function readStageConfig(node: Node): StageConfig {
  const context: unknown = node.getAllContext();
  const all = isKeyed(context) ? context : {};
  const stage = all['stage'] ?? 'dev';
  const chosen = chosenStage(all[ROOT], stage);
  const overrides = overridesIn(all);

  const nameOf = (path: string) => {
    if (path === 'stage') return 'stage (-c stage=<name>)';
    if (overrides.some(([key]) => key === path || path.startsWith(`${key}.`))) return OVERRIDE + path;
    return [ROOT, 'stages', stage, path].filter((part) => part !== '').join('.');
  };
  const config = overrides.reduce(withValueAt, chosen);
  if (Object.hasOwn(config, 'stage')) {
    throw new StageConfigError([`${ROOT}.stages.${stage}.stage is not a known key: -c stage=<name> chooses the stage`]);
  }
  return parseStageConfig({ ...config, stage }, nameOf);
}

function chosenStage(root: unknown, stage: unknown): Keyed {
  if (!isKeyed(root) || !isKeyed(root['stages'])) {
    throw new StageConfigError([`${ROOT} must be an object {"stages": {"dev": {…}}} in the context of cdk.json`]);
  }
  const unknown = Object.keys(root).filter((key) => key !== 'stages');
  if (unknown.length > 0) {
    throw new StageConfigError(unknown.map((key) => `${OVERRIDE}${key} is not a known key; known is stages`));
  }
  const stages = root['stages'];
  const chosen = typeof stage === 'string' && Object.hasOwn(stages, stage) ? stages[stage] : undefined;
  if (chosen === undefined) {
    throw new StageConfigError([
      `stage (-c stage=<name>) is ${JSON.stringify(stage)}, but ${ROOT}.stages has only ${Object.keys(stages).join(', ')}`,
    ]);
  }
  if (!isKeyed(chosen)) throw new StageConfigError([`${ROOT}.stages.${stage} must be an object`]);
  return chosen;
}

/** Path and value of each `notification-retry.<path>` of the command line. */
function overridesIn(context: Keyed): (readonly [path: string, value: unknown])[] {
  return Object.entries(context)
    .filter(([key]) => key.startsWith(OVERRIDE))
    .map(([key, value]) => [key.slice(OVERRIDE.length), fromCommandLine(value)] as const);
}

/** The command line gives text only. Text that is valid JSON, such as a number, is read as JSON. */
function fromCommandLine(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function withValueAt(config: Keyed, [path, value]: readonly [string, unknown]): Keyed {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...config, [key]: value };
  const inner = config[key];
  return { ...config, [key]: withValueAt(isKeyed(inner) ? inner : {}, [rest.join('.'), value]) };
}

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
