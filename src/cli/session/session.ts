import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Command } from 'commander';
import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { createOperatorRows } from '../../adapters/dynamodb/operator/operator-rows.ts';
import { createSweepLanes } from '../../adapters/sqs/lanes.ts';
import type { RowStore } from '../../core/delivery/ports.ts';
import type { SweepLanes } from '../../core/model/lanes.ts';
import type { Clock } from '../../core/model/time.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** What all commands share; tests put in their own. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly findDeployment: (local: boolean) => Promise<Deployment>;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pause: (ms: number) => Promise<void>;
  readonly newId: () => string;
  /** Where commands keep what they need to go on after an interruption. */
  readonly stateDirectory: string;
  /** The exit code to end with, when it is not 0. */
  readonly exitWith: (code: number) => void;
}

/** A command at work on a deployment. */
export interface Session extends CliContext {
  readonly deployment: Deployment;
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly rows: RowStore;
  /** Tells of what SQS does not take. */
  readonly lanes: SweepLanes;
  readonly local: boolean;
  readonly json: boolean;
}

interface CommonOptions {
  readonly json?: boolean;
  readonly local?: boolean;
}

/**
 * Adds the options that every command takes, and connects it.
 * @param run gives the exit code
 */
export function onDeployment<O>(
  command: Command,
  context: CliContext,
  run: (session: Session, options: O, args: readonly string[]) => Promise<number>,
): Command {
  return command
    .option('--json', 'print JSON on stdout')
    .option('--local', 'the running local runtime instead of AWS')
    .action(async function (this: Command) {
      const options = this.opts<O & CommonOptions>();
      const session = await connect(context, options);
      try {
        context.exitWith(await run(session, options, this.args));
      } finally {
        session.dynamodb.destroy();
        session.sqs.destroy();
      }
    });
}

async function connect(context: CliContext, { json = false, local = false }: CommonOptions): Promise<Session> {
  const deployment = await context.findDeployment(local);
  const { clients, tables } = deployment;
  const dynamodb = new DynamoDBClient({ ...clients.dynamodb, retryMode: 'adaptive', maxAttempts: 5 });
  const sqs = new SQSClient({ ...clients.sqs, ...(clients.sqs.endpoint && { useQueueUrlAsEndpoint: false }) });
  const { say } = context.terminal;
  // What was put a moment ago should be seen; where that cannot be had, the command goes on without.
  if ((await deployment.caughtUp?.()) === false) say('Warning: rows put in the last moments are not indexed yet.\n');
  return {
    ...context,
    deployment,
    dynamodb,
    sqs,
    rows: createOperatorRows(dynamodb, tables.notification_log, context.clock),
    lanes: createSweepLanes(sqs, deployment.lane_queues, {
      onRefused: (reason, count) => say(`SQS did not take ${count} (${reason}): they are due, and the next sweep's.\n`),
    }),
    local,
    json,
  };
}
