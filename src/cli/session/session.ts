import type { Command } from 'commander';
import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { createDeploymentClients, type DeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { createOperatorRows } from '../../adapters/dynamodb/operator/operator-rows.ts';
import { createSweepLanes } from '../../adapters/sqs/lanes.ts';
import type { RowStore } from '../../core/delivery/ports.ts';
import type { SweepLanes } from '../../core/model/queue-message.ts';
import type { Clock } from '../../core/model/time.ts';
import { OperatorError } from '../../terminal/errors.ts';
import type { Output } from '../../terminal/output.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** What all commands share. Tests provide their own. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly findDeployment: (local: boolean) => Promise<Deployment>;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pause: (ms: number) => Promise<void>;
  readonly newId: () => string;
  /** Directory of the files from which an interrupted command goes on. */
  readonly stateDirectory: string;
  /** Resolves when the person ends a command that runs until then. */
  readonly stopped: () => Promise<void>;
  /** Sets the exit code, which is 0 otherwise. */
  readonly exitWith: (code: number) => void;
}

/** A command that works on a deployment. */
export interface Session extends CliContext, Output, Omit<DeploymentClients, 'destroy'> {
  readonly deployment: Deployment;
  readonly rows: RowStore;
  /** Warns the operator of messages that SQS refuses. */
  readonly lanes: SweepLanes;
  readonly local: boolean;
}

interface CommonOptions {
  readonly json?: boolean;
  readonly local?: boolean;
}

/**
 * Adds the options that every command takes, and runs the command on the deployment that they choose.
 * @param run returns the exit code
 */
export function onDeployment<O>(
  command: Command,
  context: CliContext,
  run: (session: Session, options: O, args: readonly string[]) => Promise<number>,
): Command {
  return command
    .option('--json', 'print JSON on stdout')
    .option('--local', 'use the running local runtime instead of AWS')
    .action(async function (this: Command) {
      const options = this.opts<O & CommonOptions>();
      const deployment = await context.findDeployment(options.local === true);
      const clients = createDeploymentClients(deployment);
      try {
        const session = await openSession(context, deployment, clients, options);
        context.exitWith(await run(session, options, this.args));
      } finally {
        clients.destroy();
      }
    });
}

async function openSession(
  context: CliContext,
  deployment: Deployment,
  { dynamodb, sqs }: DeploymentClients,
  { json = false, local = false }: CommonOptions,
): Promise<Session> {
  const { say } = context.terminal;
  // The command should see rows that were put a moment ago. If that is impossible, it runs without them.
  if ((await deployment.caughtUp?.()) === false) say('Warning: rows put in the last moments are not indexed yet.\n');
  return {
    ...context,
    deployment,
    dynamodb,
    sqs,
    rows: createOperatorRows(dynamodb, deployment.tables.notification_log, context.clock),
    lanes: createSweepLanes(sqs, deployment.lane_queues, {
      onRefused: (reason, count) =>
        say(`SQS refused ${count} messages (${reason}): the notifications are due, and the next sweep sends them.\n`),
    }),
    local,
    json,
  };
}

/** The full command line that works on the same deployment as this command. */
export function opsCommand(command: string, { local }: Pick<Session, 'local'>): string {
  return `npm run ops -- ${command}${local ? ' --local' : ''}`;
}

/** Suggests the next command. The suggestion goes to stderr because it is not part of the result. */
export function sayNext(purpose: string, command: string, session: Session): void {
  session.terminal.say(`\n${purpose}: ${opsCommand(command, session)}\n`);
}

export function notificationNotFound(log_id: string): OperatorError {
  return new OperatorError(`There is no notification ${log_id}: look for its log_id with \`npm run ops -- list\`.`);
}

export function keyNotFound(key_id: string): OperatorError {
  return new OperatorError(`There is no key ${key_id} that is not revoked: see \`npm run ops -- keys list\`.`);
}

/** @param known the newsletters that the tenant has, for a command that has read them */
export function newsletterNotFound(
  tenant: string,
  newsletter: string,
  session: Pick<Session, 'local'>,
  known?: readonly string[],
): OperatorError {
  const those = known === undefined ? '' : `: it has ${known.length === 0 ? 'none yet' : known.join(', ')}`;
  return new OperatorError(
    `${tenant} has no newsletter ${newsletter}${those}. PUT /v1/newsletters/${newsletter} makes it; a key with ` +
      `newsletters:write comes from \`${opsCommand('keys create', session)}\`.`,
  );
}
