import * as v from 'valibot';
import type { StageConfig } from './stage-config.ts';
import { STAGE_CONFIG_SCHEMA } from './stage-config-schema.ts';

/** Names every fault: the key, what is wrong, and what would be right. */
export class StageConfigError extends Error {
  override readonly name = 'StageConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
    );
    this.faults = faults;
  }
}

/**
 * Checks a stage's configuration and fills in the defaults. A configuration that passed passes again unchanged.
 * @param nameOf turns a key (dot path, empty for the whole configuration) into the name that its author knows
 * @throws StageConfigError with all faults at once
 */
export function parseStageConfig(input: unknown, nameOf = (path: string) => path || 'configuration'): StageConfig {
  const parsed = v.safeParse(STAGE_CONFIG_SCHEMA, input);
  if (parsed.success) return parsed.output;
  throw new StageConfigError(parsed.issues.map((issue) => `${nameOf(v.getDotPath(issue) ?? '')} ${issue.message}`));
}
