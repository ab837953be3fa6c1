import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { Problem } from '../../core/model/problem.ts';
import { updateItem } from '../dynamodb/table/guarded-update.ts';
import { getItem } from '../dynamodb/table/reads.ts';
import type { Deployment } from './deployment.ts';

/** What runs a stage by itself. Rules that events match go on: what they bring waits in its queue. */
export interface Switched {
  readonly rules: readonly string[];
  readonly event_sources: readonly string[];
}

interface Stage {
  readonly stage: string;
  readonly local: boolean;
  readonly dynamodb: DynamoDBClient;
  readonly deployment: Pick<Deployment, 'clients' | 'tables'>;
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

  async function remembered(): Promise<Switched | undefined> {
    const item = await getItem(dynamodb, table, STOPPED);
    const { rules = [], event_sources = [], stopped_at } = item === undefined ? {} : unmarshall(item);
    return stopped_at === undefined ? undefined : { rules, event_sources };
  }

  async function running(): Promise<Switched> {
    const found = { rules: [] as string[], event_sources: [] as string[] };
    const client = new CloudFormationClient({ maxAttempts: 5 });
    for await (const page of paginateListStackResources({ client }, { StackName: stage })) {
      for (const { ResourceType, PhysicalResourceId: id = '' } of page.StackResourceSummaries ?? []) {
        // A schedule is on the default bus: before the name of a rule of another one comes that of its bus.
        if (ResourceType === 'AWS::Events::Rule' && !id.includes('|')) {
          const { State, ScheduleExpression } = await eventbridge.send(new events.DescribeRuleCommand({ Name: id }));
          if (State !== 'DISABLED' && ScheduleExpression) found.rules.push(id);
        }
        if (ResourceType === 'AWS::Lambda::EventSourceMapping') {
          const { State = '' } = await functions.send(new lambda.GetEventSourceMappingCommand({ UUID: id }));
          if (/^(Enabled|Enabling|Creating|Updating)$/.test(State)) found.event_sources.push(id);
        }
      }
    }
    return found;
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
      for (const Name of now.rules) await eventbridge.send(new events.DisableRuleCommand({ Name }));
      for (const UUID of now.event_sources)
        await functions.send(new lambda.UpdateEventSourceMappingCommand({ UUID, Enabled: false }));
      return all;
    },

    async start(): Promise<Switched> {
      const stopped = await remembered();
      if (stopped === undefined) throw new Problem('not-found', 'Nothing of this stage was stopped by --stop.');
      for (const UUID of stopped.event_sources)
        await functions.send(new lambda.UpdateEventSourceMappingCommand({ UUID, Enabled: true }));
      for (const Name of stopped.rules) await eventbridge.send(new events.EnableRuleCommand({ Name }));
      // Operators may delete no item.
      await updateItem(dynamodb, table, STOPPED, { remove: ['rules', 'event_sources', 'stopped_at'] });
      return stopped;
    },
  };
}
