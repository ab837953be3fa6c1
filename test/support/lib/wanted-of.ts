import type { Wanted } from '../../../src/application/preflight/finding.ts';
import { wantedStage } from '../../../src/cli/commands/status/wanted-stage.ts';
import { templateOf } from './synthesize.ts';

/** A stage as the preflight reads it from its template. */
export function wantedOf(context: Readonly<Record<string, unknown>>): Wanted {
  return wantedStage({ template: 'any' }, () => JSON.stringify(templateOf(context).toJSON())).wanted;
}
