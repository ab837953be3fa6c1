import type { Node } from 'constructs';
import { isKeyed, type Keyed, OVERRIDE, overridden, overridesIn } from '../../src/core/model/setting.ts';
import { parseStageConfig, type StageConfig, StageConfigError } from './stage-config.ts';

const ROOT = 'notification-retry';

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
  const config = overridden(chosen, overrides);
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
