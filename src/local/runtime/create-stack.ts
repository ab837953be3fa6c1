import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type AwsClients, awsClients } from '../emulator/aws-clients.ts';
import { type Deliver, eventBus, type Publish, postTo } from '../emulator/events/event-bus.ts';
import type { InvokeByName } from '../emulator/lambda/invocation.ts';
import { showNotices } from '../emulator/sources/show-notices.ts';
import { readAssembly } from '../emulator/template/assembly.ts';
import { type LocalPlan, planFrom } from '../emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../emulator/template/references.ts';
import type { Teardown } from '../processes/teardown.ts';
import type { StandIns } from '../stand-ins/stand-ins.ts';
import { createQueues, createTables, queueUrl } from '../stand-ins/tables-and-queues.ts';
import type { Log } from '../support/running.ts';

/** The stack's tables, queues, topics and event bus on the stand-ins. */
export interface LocalStack {
  readonly plan: LocalPlan;
  readonly clients: AwsClients;
  readonly send: (queueName: string, body: string) => Promise<void>;
  readonly publish: Publish;
  /** Lets rules reach functions, which are started last. */
  readonly reachFunctions: (invoke: InvokeByName) => void;
}

export interface StackOptions {
  /** Directory of the synthesized app. */
  readonly assembly: string;
  readonly standIns: Pick<StandIns, 'dynamodb' | 'sqs'>;
  readonly logs: string;
  readonly log: Log;
  readonly report: (step: string) => void;
  readonly onNotice: (subject: string) => void;
  readonly teardown: Teardown;
}

/** @throws Error that names the resource of the template which cannot be run here */
export async function createStack(options: StackOptions): Promise<LocalStack> {
  const { standIns, log, teardown } = options;
  const place = { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint: standIns.sqs };
  const plan = planFrom(readAssembly(options.assembly), place);
  const clients = awsClients(standIns.dynamodb, standIns.sqs);
  teardown.add('clients', async () => clients.destroy());
  options.report(`${plan.tables.length} tables and ${plan.queues.length} queues`);
  await Promise.all([
    createTables(clients.dynamodb, plan.tables),
    createQueues(clients.sqs, standIns.sqs, plan.queues),
  ]);
  const send = async (queue: string, body: string) => {
    await clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(standIns.sqs, queue), MessageBody: body }));
  };
  const notices = await showNotices({
    clients,
    sqsEndpoint: standIns.sqs,
    topics: plan.topics,
    file: join(options.logs, 'notices.log'),
    onNotice: options.onNotice,
    log,
  });
  teardown.add('notices', () => notices.stop());
  let invoke: InvokeByName = () => undefined;
  const deliver: Deliver = async (target, body) => {
    if (target.kind === 'queue') return send(target.name, body);
    if (target.kind === 'http') return postTo(target, body);
    const result = await invoke(target.name, body);
    if (result?.ok !== true) throw new Error(`${target.name}: ${result?.error.errorMessage ?? 'is not there'}`);
  };
  const reachFunctions = (found: InvokeByName) => {
    invoke = found;
  };
  return { plan, clients, send, publish: eventBus(plan.eventRules, deliver, log), reachFunctions };
}
