import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { awsClients } from '../../../src/local/emulator/aws-clients.ts';
import { functionEnvironment, type ServiceEndpoints } from '../../../src/local/emulator/lambda/environment.ts';
import { Teardown } from '../../../src/local/processes/teardown.ts';
import { DEFAULT_WORK_DIR } from '../../../src/local/runtime/directories.ts';
import { prepareSecrets } from '../../../src/local/runtime/secrets-file.ts';
import { startDynamodb } from '../../../src/local/stand-ins/dynamodb.ts';
import { startSqs } from '../../../src/local/stand-ins/stand-ins.ts';
import { createQueues, createTables } from '../../../src/local/stand-ins/tables-and-queues.ts';
import type { BenchContext } from '../benchmark.ts';
import { PLAIN_QUEUE, PLAIN_TABLE_INPUTS } from '../plain/plain-tables.ts';
import { bundlePlain, deployedFunctions, type ProcessOptions, startFunction, tableNames } from './function.ts';
import { startReceiver } from './receiver.ts';

export type World = Awaited<ReturnType<typeof startWorld>>;

export interface StartOptions extends ProcessOptions {
  readonly services?: Partial<ServiceEndpoints>;
  readonly environment?: Readonly<Record<string, string>>;
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

/** Failures in a benchmark are on purpose, so no breaker may open. */
const NO_BREAKER = { min_samples: 1_000_000 };

/**
 * Runs a benchmark in a world of its own.
 * @param dataDir directory of a `dynamodb.sqlite` with rows, and of the secrets file where they are encrypted
 */
export async function inWorld<T>(context: BenchContext, run: (world: World) => Promise<T>, dataDir?: string) {
  const teardown = new Teardown();
  try {
    return await run(await startWorld(context, teardown, dataDir));
  } finally {
    await teardown.run();
  }
}

/** CPU of a single GetItem in microseconds, which tells how fast the machine is now. */
export async function singleCalls(world: World, calls = 500): Promise<() => Promise<number>> {
  const fn = await world.startPlain('send-webhook', 'get-item');
  const events = Array.from({ length: calls }, () => ({ table: tableNames(world).notification_log, log_id: 'none' }));
  return async () => (await fn.run(events)).cpu_us / calls;
}

/** The tables and queues of the deployed stack and of the plain reading, on stand-ins of their own. */
async function startWorld({ stack, home }: BenchContext, teardown: Teardown, dataDir?: string) {
  const directory = mkdtempSync(join(home, 'world-'));
  const secretsFile = join(dataDir ?? directory, 'secrets.json');
  const log = (name: string) => join(directory, `${name}.log`);
  const dynamodb = await startDynamodb(dataDir, log('dynamodb'), join(DEFAULT_WORK_DIR, 'cache'));
  teardown.add('DynamoDB', () => dynamodb.child.stop());
  const sqs = await startSqs(undefined, log('sqs'));
  teardown.add('SQS', () => sqs.child.stop());
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
    dynamodb: dynamodb.endpoint,
    sqs: sqs.endpoint,
    simulator: receiver.url,
  };
  const start = (service: string, { services: changed, environment, ...options }: StartOptions = {}) => {
    const plan = deployed.planOf(service);
    const deployedWith = functionEnvironment(plan, { ...services, ...changed }, { secretsFile, breaker: NO_BREAKER });
    const started = startFunction(plan, { ...deployedWith, ...environment }, log(service), options);
    teardown.add(service, () => started.stop());
    return started;
  };
  return {
    ...deployed,
    directory,
    clients,
    services,
    receiver,
    /** File with the functions' credentials and keys. */
    secretsFile,
    /** Starts a deployed function, or another bundle in its environment. */
    start,
    /** Starts a function of the plain reading. @param name of its file */
    startPlain: async (service: string, name: string, options: StartOptions = {}) =>
      start(service, { ...options, bundle: await bundlePlain(name, directory) }),
    /** Adds what must be stopped with the world. */
    until: (name: string, stop: () => Promise<void>) => teardown.add(name, stop),
  };
}

/** Removes the stream: nothing reads it here, it consumes no capacity, and each record slows the stand-in down. */
const withoutStream = ({ StreamSpecification: _, ...table }: CreateTableCommandInput): CreateTableCommandInput => table;
