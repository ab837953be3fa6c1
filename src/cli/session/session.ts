import type { Command } from 'commander';
import { DEFAULT_STACK, STACK_VARIABLE } from '../../adapters/deployment/aws-deployment.ts';
import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { createDeploymentClients, type DeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { type Decide, decideNow } from '../../application/audit.ts';
import { type OperatorDeps, operatorDeps } from '../../application/deps.ts';
import { dropReplacedOf } from '../../application/replay.ts';
import type { Channel } from '../../core/model/channels.ts';
import { Problem } from '../../core/model/problem.ts';
import type { Clock } from '../../core/model/time.ts';
import { briefly, type Taken } from '../../core/operator/dead-letters/dead-letter.ts';
import { userOfMachine } from '../../processes/process-identity.ts';
import { type Chosen, type CommandText, describeCommand, type Options } from '../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../terminal/errors.ts';
import type { Interruption } from '../../terminal/interruption.ts';
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
  /** Watches, from now on, whether somebody ends a command that ends in order then. */
  readonly interruption: () => Pick<Interruption, 'signal' | 'exitCode'>;
  /** Resolves when the person ends a command that runs until then. */
  readonly stopped: () => Promise<void>;
  /** Sets the exit code, which is 0 otherwise. */
  readonly exitWith: (code: number) => void;
}

/** A command that works on a deployment: the application on it, and the terminal. */
export interface Session extends Omit<CliContext, 'clock' | 'newId'>, Output, OperatorDeps {
  /** Runs what changes something, and writes to the audit log who did it. What cannot be written there is not done. */
  readonly decide: Decide;
  /** Who runs the command, for the audit log. */
  readonly operator: () => Promise<string>;
}

const COMMON = { '--json': 'print JSON on stdout', '--local': 'use the running local runtime instead of AWS' } as const;
type CommonOptions = Chosen<typeof COMMON>;

interface OpsCommand<S extends Options> extends CommandText<S> {
  /** @returns the exit code, if it is not 0 */
  readonly run: (session: Session, options: Chosen<S>, args: readonly string[]) => Promise<number | undefined>;
}

export type AddCommand = (parent: Command, context: CliContext) => void;

export function onDeployment<const S extends Options = Record<never, never>>(described: OpsCommand<S>): AddCommand {
  return (parent, context) => {
    describeCommand(parent, described, COMMON).action(async function (this: Command) {
      const options = this.opts<Chosen<S> & CommonOptions>();
      const deployment = await context.findDeployment(options.local === true);
      const clients = createDeploymentClients(deployment);
      try {
        const session = await openSession(context, deployment, clients, options);
        context.exitWith((await described.run(session, options, this.args)) ?? 0);
      } finally {
        clients.destroy();
      }
    });
  };
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
  const deps = operatorDeps({
    deployment,
    dynamodb,
    sqs,
    clock: context.clock,
    newId: context.newId,
    stage: local ? 'local' : (context.env[STACK_VARIABLE] ?? DEFAULT_STACK),
    region: String(await dynamodb.config.region()),
    local,
    onRecord: () => {},
    onRefused: (reason, count) =>
      say(`SQS refused ${count} messages (${reason}): the notifications are due, and the next sweep sends them.\n`),
  });
  let known: Promise<string> | undefined;
  const operator = () => {
    known ??= deployment.operator?.() ?? Promise.resolve(userOfMachine());
    return known;
  };
  const onUnwritten = (error: unknown) =>
    say(`Warning: the audit log lacks the result: ${error instanceof Error ? error.message : error}\n`);
  const decide = decideNow(async () => ({ who: await operator(), role: 'operator' }), { ...deps, onUnwritten });
  return { ...context, ...deps, decide, operator, json };
}

/** The full command line that works on the same deployment as this command. */
export function opsCommand(command: string, { local }: Pick<Session, 'local'>): string {
  return `npm run ops -- ${command}${local ? ' --local' : ''}`;
}

/** Suggests the next command. The suggestion goes to stderr because it is not part of the result. */
export function sayNext(purpose: string, command: string, session: Session): void {
  session.terminal.say(`\n${purpose}: ${opsCommand(command, session)}\n`);
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
    `${tenant} has no newsletter ${newsletter}${those}. PUT /v1/newsletters/${newsletter} makes it, and ` +
      `\`${opsCommand(`newsletters create ${newsletter} --tenant ${tenant}`, session)}\`.`,
  );
}

/** Letters that could not be deleted: a walk names them here, and the command at its end. */
export function letterFaults(session: Session) {
  const faults = new Map<Channel, string>();
  return {
    onFault(error: unknown, channel: Channel): void {
      faults.set(channel, error instanceof Error ? error.message : String(error));
    },
    say(): void {
      for (const [channel, why] of faults) {
        session.terminal.say(
          `Stale dead letters stay in the queue of ${channel}: ${why}\n` +
            `They send nothing. To delete them: ${opsCommand(`dlq drop --channel ${channel} --stale`, session)}\n`,
        );
      }
    },
  };
}

/** Deletes the letters of dead notifications that the command has taken. */
export async function deleteLettersNow(taken: Taken, session: Session): Promise<void> {
  const faults = letterFaults(session);
  await dropReplacedOf(session, faults.onFault)(taken, briefly(session.clock));
  faults.say();
}

/** What the service names by its fields, the command names by its options. @throws OperatorError, or the error itself */
export function faultInOptions(error: unknown, names: Readonly<Record<string, string>>): never {
  const faults = error instanceof Problem ? (error.extras.errors ?? []) : [];
  if (faults.length === 0) throw error;
  const sentences = faults.map(({ path, message }) => `${names[path] ?? path} ${message}.`);
  throw new OperatorError(sentences.join(' '), EXIT_USAGE);
}
