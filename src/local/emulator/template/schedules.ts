import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../../support/json.ts';
import { nameInArn } from './references.ts';

export interface SchedulePlan {
  readonly id: string;
  /** `cron(…)` or `rate(…)`, as on AWS. */
  readonly expression: string;
  readonly timezone: string;
  readonly functionName: string;
  /** The event; undefined: EventBridge's scheduled event. */
  readonly input?: Json;
}

/** The schedules of an EventBridge rule, one per Lambda target. A rule with an event pattern has none. */
export function schedulesOfRule(id: string, properties: JsonObject): SchedulePlan[] {
  const expression = properties['ScheduleExpression'];
  if (typeof expression !== 'string' || properties['State'] === 'DISABLED') return [];
  return listAt(properties['Targets'], `${id}.Targets`)
    .map((target) => objectAt(target, `${id}.Targets`))
    .filter((target) => textAt(target['Arn'], `${id}.Targets.Arn`).includes(':lambda:'))
    .map((target) => ({ id, expression, timezone: 'UTC', ...lambdaTarget(target, id) }));
}

/** The schedule of an EventBridge Scheduler resource; none when it is disabled or its target is not a function. */
export function schedulesOfScheduler(id: string, properties: JsonObject): SchedulePlan[] {
  if (properties['State'] === 'DISABLED') return [];
  const target = objectAt(properties['Target'], `${id}.Target`);
  if (!textAt(target['Arn'], `${id}.Target.Arn`).includes(':lambda:')) return [];
  const zone = properties['ScheduleExpressionTimezone'];
  return [
    {
      id,
      expression: textAt(properties['ScheduleExpression'], `${id}.ScheduleExpression`),
      timezone: typeof zone === 'string' ? zone : 'UTC',
      ...lambdaTarget(target, id),
    },
  ];
}

function lambdaTarget(target: JsonObject, id: string): Pick<SchedulePlan, 'functionName' | 'input'> {
  const functionName = nameInArn(textAt(target['Arn'], `${id}.Arn`));
  const input = target['Input'];
  if (typeof input !== 'string') return { functionName };
  const parsed: Json = JSON.parse(input);
  return isObject(parsed) ? { functionName, input: parsed } : { functionName };
}
