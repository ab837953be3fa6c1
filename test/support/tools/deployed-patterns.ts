import type { Template } from 'aws-cdk-lib/assertions';
import type { JsonObject } from '../../../src/local/support/json.ts';
import { resourcesOf } from '../lib/synthesize.ts';

/** The filters of the stack's event source mapping on the table's stream; a record needs to pass one of them. */
export function streamFilters(template: Template): JsonObject[] {
  return resourcesOf(template, 'AWS::Lambda::EventSourceMapping').flatMap(({ properties }) => {
    const criteria = properties['FilterCriteria'] as { Filters: { Pattern: string }[] } | undefined;
    return (criteria?.Filters ?? []).map(({ Pattern }) => JSON.parse(Pattern));
  });
}

export interface EventRule {
  readonly id: string;
  readonly pattern: JsonObject;
}

/** The stack's EventBridge rules that wait for events; rules on a schedule have no pattern. */
export function eventRules(template: Template): EventRule[] {
  return resourcesOf(template, 'AWS::Events::Rule').flatMap(({ id, properties }) =>
    properties['EventPattern'] === undefined ? [] : [{ id, pattern: properties['EventPattern'] as JsonObject }],
  );
}
