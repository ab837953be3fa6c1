import {
  CloudFormationClient,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { Problem } from '../../core/model/problem.ts';
import { getItem } from '../dynamodb/table/reads.ts';
import { updateItem } from '../dynamodb/table/writes.ts';
import type { Deployment } from './deployment.ts';

/** What runs a stage by itself. Rules that events match go on: what they bring waits in its queue. */
interface Runs {
  readonly rules: readonly string[];
  readonly event_sources: readonly string[];
}

/** `gone`: named by a stack or remembered, and deleted since. */
export interface Switched extends Runs {
  readonly gone: readonly string[];
}

interface Stage {
  readonly stage: string;
  readonly local: boolean;
  readonly dynamodb: DynamoDBClient;
  readonly deployment: Pick<Deployment, 'clients' | 'tables' | 'reconciler'>;
}

/** Remembers what was stopped, for whichever machine. */
const STOPPED = { kind: { S: 'stopped' }, id: { S: 'stage' } };

/** Stops a stage, and starts what it has stopped: what others had disabled stays so. Each may be repeated. */
export async function stageSwitch({ stage, local, dynamodb, deployment }: Stage) {
  if (local)
    throw new Problem('not-found', 'The local runtime has no rules to stop: start it with --schedule off, if need be.');
  const [events, lambda] = await Promise.all([import('@aws-sdk/client-eventbridge'), import('@aws-sdk/client-lambda')]);
  const eventbridge = new events.EventBridgeClient({ ...deployment.clients.eventbridge, maxAttempts: 5 });
  const functions = new lambda.LambdaClient({ ...deployment.clients.lambda, maxAttempts: 5 });
  const table = deployment.tables.pipeline_state;

  async function remembered(): Promise<Runs | undefined> {
    const item = await getItem(dynamodb, table, STOPPED);
    const { rules = [], event_sources = [], stopped_at } = item === undefined ? {} : unmarshall(item);
    return stopped_at === undefined ? undefined : { rules, event_sources };
  }

  const descriptions = new Map<string, string>();
  async function describe(FunctionName: string): Promise<string> {
    const known = descriptions.get(FunctionName);
    if (known !== undefined) return known;
    const get = functions.send(new lambda.GetFunctionConfigurationCommand({ FunctionName }));
    const { Description = '' } = (await unlessGone(get)) ?? {};
    descriptions.set(FunctionName, Description);
    return Description;
  }

  /** A stack may hold more than the stage: what is of this says so in its description. */
  async function running(): Promise<Switched> {
    const found = { rules: [] as string[], event_sources: [] as string[], gone: [] as string[] };
    const { reconciler } = deployment;
    const said = reconciler === undefined ? '' : await describe(reconciler);
    const [mark] = /^notification-retry [^:]+: /.exec(said) ?? [];
    let ours = 0;
    if (mark === undefined)
      throw new Problem('not-found', `No function of ${stage} says of which stage it is: deploy it anew.`);
    for await (const { ResourceType, PhysicalResourceId: id = '' } of resourcesOf(stage)) {
      // A schedule is on the default bus: before the name of a rule of another one comes that of its bus.
      if (ResourceType === 'AWS::Events::Rule' && !id.includes('|')) {
        const rule = await unlessGone(eventbridge.send(new events.DescribeRuleCommand({ Name: id })));
        if (rule === undefined) found.gone.push(id);
        if (!rule?.ScheduleExpression || !rule.Description?.startsWith(mark)) continue;
        ours += 1;
        if (rule.State !== 'DISABLED') found.rules.push(id);
      }
      if (ResourceType === 'AWS::Lambda::EventSourceMapping') {
        const source = await unlessGone(functions.send(new lambda.GetEventSourceMappingCommand({ UUID: id })));
        if (source === undefined) found.gone.push(id);
        if (!source?.FunctionArn || !(await describe(source.FunctionArn)).startsWith(mark)) continue;
        ours += 1;
        if (/^(Enabled|Enabling|Creating|Updating)$/.test(source.State ?? '')) found.event_sources.push(id);
      }
    }
    if (ours === 0)
      throw new Problem('not-found', `The stack ${stage} has no schedule and no event source of a stage.`);
    return found;
  }

  async function turn({ rules, event_sources }: Runs, on: boolean): Promise<string[]> {
    const gone: string[] = [];
    for (const UUID of event_sources) {
      const update = functions.send(new lambda.UpdateEventSourceMappingCommand({ UUID, Enabled: on }));
      if ((await unlessGone(update)) === undefined) gone.push(UUID);
    }
    for (const Name of rules) {
      const command = on ? new events.EnableRuleCommand({ Name }) : new events.DisableRuleCommand({ Name });
      if ((await unlessGone(eventbridge.send(command))) === undefined) gone.push(Name);
    }
    return gone;
  }

  return {
    async stop(): Promise<Switched> {
      const [before, now] = [await remembered(), await running()];
      const all = {
        rules: [...new Set([...(before?.rules ?? []), ...now.rules])],
        event_sources: [...new Set([...(before?.event_sources ?? []), ...now.event_sources])],
      };
      // Before it happens: who dies in between starts what was stopped.
      await updateItem(dynamodb, table, STOPPED, { set: { ...all, stopped_at: new Date().toISOString() } });
      return { ...all, gone: [...now.gone, ...(await turn(now, false))] };
    },

    async start(): Promise<Switched> {
      const stopped = await remembered();
      if (stopped === undefined) throw new Problem('not-found', 'Nothing of this stage was stopped by --stop.');
      const gone = await turn(stopped, true);
      // Operators may delete no item.
      await updateItem(dynamodb, table, STOPPED, { remove: ['rules', 'event_sources', 'stopped_at'] });
      return { ...stopped, gone };
    },
  };
}

/** Of the stack, the nested ones in it, and those of its parts (`stackPerPart`), where there are any. */
async function* resourcesOf(stack: string): AsyncGenerator<StackResourceSummary> {
  const client = new CloudFormationClient({ maxAttempts: 5 });
  const stacks = [stack, `${stack}-console`, `${stack}-monitoring`];
  for (let StackName = stacks.shift(); StackName !== undefined; StackName = stacks.shift()) {
    try {
      for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
        for (const one of StackResourceSummaries) {
          const { ResourceType, PhysicalResourceId: id } = one;
          if (ResourceType === 'AWS::CloudFormation::Stack' && id !== undefined) stacks.push(id);
          yield one;
        }
      }
    } catch (error) {
      if (!/does not exist/.test(String(error)) || StackName === stack) throw error;
    }
  }
}

async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}
