import { mkdtempSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { fnv1a } from '../../src/core/model/work-index.ts';
import { sendJson, serve } from '../../src/http/loopback-server.ts';
import { type AwsClients, awsClients } from '../../src/local/emulator/aws-clients.ts';
import { functionEnvironment, type ServiceEndpoints } from '../../src/local/emulator/lambda/environment.ts';
import { Teardown } from '../../src/local/processes/teardown.ts';
import { DEFAULT_WORK_DIR } from '../../src/local/runtime/directories.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import { createQueues } from '../../src/local/stand-ins/create-queues.ts';
import { createTables } from '../../src/local/stand-ins/create-tables.ts';
import { startDynamodb } from '../../src/local/stand-ins/dynamodb.ts';
import { startSes } from '../../src/local/stand-ins/ses.ts';
import { startSqs } from '../../src/local/stand-ins/sqs.ts';
import type { BenchContext } from '../benchmark.ts';
import { PLAIN_QUEUE, PLAIN_TABLE_INPUTS } from '../plain/plain-tables.ts';
import {
  bundle,
  type DeployedFunctions,
  deployedFunctions,
  type MeasuredFunction,
  startFunction,
  tableNames,
} from './function.ts';
import { generator } from './rows.ts';

/** The tables and queues of the deployed stack and of the plain reading, on stand-ins of their own. */
export interface World extends DeployedFunctions {
  readonly directory: string;
  readonly clients: AwsClients;
  readonly services: ServiceEndpoints;
  readonly receiver: Receiver;
  /** File with the functions' credentials and keys. */
  readonly secretsFile: string;
  /** Starts a deployed function, or another bundle in its environment. */
  start(service: string, options?: StartOptions): Promise<MeasuredFunction>;
  /** Adds what must be stopped with the world. */
  until(name: string, stop: () => Promise<void>): void;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly services?: Partial<ServiceEndpoints>;
  readonly bundle?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
}

export interface WorldOptions {
  /** Directory of a `dynamodb.sqlite` with rows. */
  readonly dataDir?: string;
  /** A secrets file that exists, where the rows are encrypted. */
  readonly secretsFile?: string;
  /** Whether e-mail is sent. */
  readonly email?: boolean;
}

/** An address where nothing listens: calls without a stand-in must fail and not reach AWS. */
export const NOWHERE = 'http://127.0.0.1:9';
export const SERVICES_NOWHERE: ServiceEndpoints = {
  dynamodb: NOWHERE,
  sqs: NOWHERE,
  ses: NOWHERE,
  lambda: NOWHERE,
  simulator: NOWHERE,
};

const LEAST_TIMEOUT_SECONDS = 60;

/** Failures in a benchmark are on purpose, so no breaker may open. */
const NO_BREAKER = { min_samples: 1_000_000 };

/** Runs a benchmark in a world of its own. */
export async function inWorld<T>(
  context: BenchContext,
  run: (world: World) => Promise<T>,
  options: WorldOptions = {},
): Promise<T> {
  const world = await startWorld(context, options);
  try {
    return await run(world);
  } finally {
    await world.stop();
  }
}

/** CPU of a single GetItem in microseconds, which tells how fast the machine is now. */
export async function singleCalls(world: World, calls = 500): Promise<() => Promise<number>> {
  const fn = await world.start('send-webhook', { bundle: await bundle('bench/plain/get-item.ts', world.directory) });
  const events = Array.from({ length: calls }, () => ({ table: tableNames(world).notification_log, log_id: 'none' }));
  return async () => (await fn.run(events)).cpu_us / calls;
}

/** Node's heap limit as on Lambda and in the local runtime: a tenth of the memory is not for the heap. */
export function heapOf({ planOf }: World, service: string): string[] {
  return [`--max-old-space-size=${Math.floor(planOf(service).memoryMegabytes * 0.9)}`];
}

export async function startWorld(context: BenchContext, options: WorldOptions = {}): Promise<World> {
  const directory = mkdtempSync(join(context.home, 'world-'));
  const teardown = new Teardown();
  try {
    return await start(context, directory, options, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function start(
  { stack, profiles }: BenchContext,
  directory: string,
  { dataDir, secretsFile = join(directory, 'secrets.json'), email = false }: WorldOptions,
  teardown: Teardown,
): Promise<World> {
  const log = (name: string) => join(directory, `${name}.log`);
  const dynamodb = await startDynamodb(dataDir, log('dynamodb'), join(DEFAULT_WORK_DIR, 'cache'));
  teardown.add('DynamoDB', () => dynamodb.child.stop());
  const sqs = await startSqs(undefined, log('sqs'));
  teardown.add('SQS', () => sqs.child.stop());
  const ses = email ? await startSes(log('ses')) : undefined;
  if (ses) teardown.add('SES', () => ses.child.stop());
  const receiver = await startReceiver();
  teardown.add('receiver', () => receiver.close());

  const deployed = deployedFunctions(stack, sqs.endpoint);
  const clients = awsClients(dynamodb.endpoint, sqs.endpoint);
  teardown.add('clients', async () => clients.destroy());
  await createTables(clients.dynamodb, [...deployed.plan.tables.map(withoutStream), ...PLAIN_TABLE_INPUTS]);
  await createQueues(clients.sqs, sqs.endpoint, [...deployed.plan.queues, { name: PLAIN_QUEUE, attributes: {} }]);
  prepareSecrets(secretsFile, receiver.url);
  const services: ServiceEndpoints = {
    ...SERVICES_NOWHERE,
    ...{ dynamodb: dynamodb.endpoint, sqs: sqs.endpoint, simulator: receiver.url },
    ...(ses && { ses: ses.endpoint }),
  };
  return {
    ...deployed,
    directory,
    clients,
    services,
    receiver,
    secretsFile,
    async start(service, { services: changed = {}, bundle, environment = {}, nodeOptions = [] } = {}) {
      const plan = deployed.planOf(service);
      const started = await startFunction({
        bundle: bundle ?? deployed.bundleOf(service),
        handler: plan.handler.split('.').at(-1) ?? '',
        environment: {
          ...functionEnvironment(plan, { ...services, ...changed }, { secretsFile, breaker: NO_BREAKER }),
          ...environment,
        },
        // Benchmarks wait for answers on purpose, longer than a function's own time-out.
        timeoutSeconds: Math.max(LEAST_TIMEOUT_SECONDS, plan.timeoutSeconds),
        logFile: log(service),
        nodeOptions: [
          ...nodeOptions,
          ...profiling(profiles, bundle === undefined ? service : basename(dirname(bundle))),
        ],
      });
      teardown.add(service, () => started.stop());
      return started;
    },
    until: (name, stop) => teardown.add(name, stop),
    stop: () => teardown.run(),
  };
}

/**
 * A later profile replaces an earlier one of the same name: the measured run comes after the setup with that function.
 */
function profiling(directory: string | undefined, name: string): string[] {
  if (directory === undefined) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-name=${name}.cpuprofile`];
}

/** Removes the stream: nothing reads it here, it consumes no capacity, and each record slows the stand-in down. */
function withoutStream({ StreamSpecification: _, ...table }: CreateTableCommandInput): CreateTableCommandInput {
  return table;
}

/**
 * A receiver for Slack, Teams and webhooks. The parts of its paths: `/slow` answers after 20 to 300 ms, as providers do;
 * `/flaky` refuses a fifth of the webhooks at their first try; `/status/503` answers that status. Every other path
 * accepts at once.
 */
export interface Receiver {
  readonly url: string;
  /** Requests so far. */
  count(): number;
  /** The webhook-ids that `/flaky` has refused since the last call; their next try is accepted. */
  takeRefused(): ReadonlySet<string>;
  close(): Promise<void>;
}

const SHORTEST_MS = 20;
const LONGEST_MS = 300;

export async function startReceiver(): Promise<Receiver> {
  let count = 0;
  const latency = latencies();
  let refused = new Set<string>();
  let forgiven: ReadonlySet<string> = refused;
  const fails = (id: string) => {
    if (forgiven.has(id) || fnv1a(id) % 5 !== 0) return false;
    refused.add(id);
    return true;
  };
  const server = await serve(
    async ({ url = '', headers }, response) => {
      count += 1;
      const id = String(headers['webhook-id']);
      const asked = Number(/\/status\/(\d{3})/.exec(url)?.[1] ?? 200);
      const status = url.includes('/flaky') && fails(id) ? 503 : asked;
      if (url.includes('/slow')) await setTimeout(latency());
      // Slack's answer to chat.postMessage. The other senders look at the status only.
      sendJson(response, status, { ok: true, ts: '1700000000.000100' });
    },
    0,
    'the receiver',
  );
  return {
    url: server.url,
    count: () => count,
    takeRefused() {
      forgiven = refused;
      refused = new Set();
      return forgiven;
    },
    close: () => server.close(),
  };
}

/** Draws milliseconds, evenly over the range, the same ones in every run. */
export function latencies(): () => number {
  const random = generator(1);
  return () => SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS);
}
