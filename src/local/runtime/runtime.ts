import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { awsClients } from '../emulator/aws-clients.ts';
import { eventBus, type Publish } from '../emulator/events/event-bus.ts';
import {
  parseSchedule,
  secondsBetweenRuns,
  startSchedule,
  type Timing,
  timedSchedules,
} from '../emulator/events/schedule.ts';
import { createHttpApi } from '../emulator/http-api/http-api.ts';
import { type LocalOverrides, overridden } from '../emulator/lambda/environment.ts';
import { type FunctionFleet, startFunctions } from '../emulator/lambda/function-fleet.ts';
import { startLambdaApi } from '../emulator/lambda/lambda-api.ts';
import { showNotices } from '../emulator/sources/notices.ts';
import { type Sources, startSources } from '../emulator/sources/sources.ts';
import { readAssembly } from '../emulator/template/assembly.ts';
import { type LocalPlan, planFrom } from '../emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../emulator/template/references.ts';
import { recordProcesses } from '../processes/orphans.ts';
import { choosePorts } from '../processes/ports.ts';
import { Teardown } from '../processes/teardown.ts';
import { startSimulations } from '../providers/start-providers.ts';
import { createQueues, queueUrl } from '../stand-ins/create-queues.ts';
import { createTables } from '../stand-ins/create-tables.ts';
import { startStandIns } from '../stand-ins/stand-ins.ts';
import { takeDirectories } from './directories.ts';
import { describeRuntime, type Endpoints, removeEndpoints, writeEndpoints } from './endpoints-file.ts';
import { endpointsFile } from './paths.ts';
import { prepareSecrets } from './secrets-file.ts';
import { statusPage } from './status-page.ts';
import { synthesize } from './synthesize.ts';

export interface LocalRuntimeOptions {
  /** Keeps tables, queues and keys there; undefined: nothing survives the runtime. */
  readonly dataDir?: string;
  /** Replaces the unit of backoff, in seconds. */
  readonly baseIntervalSeconds?: number;
  /** Replaces settings of the breakers; without them the base interval shortens theirs in proportion. */
  readonly breaker?: LocalOverrides['breaker'];
  /** `cron(…)` or `rate(…)` in place of the template's schedule of the sweep, or `off`. */
  readonly schedule?: string;
  /** Port of the API and the status page; 0 or undefined: any free one. */
  readonly port?: number;
  /** Where the endpoints file, the logs and the synthesized app go. */
  readonly workDir?: string;
  /** An app that is synthesized already; undefined: this project's. */
  readonly assemblyDir?: string;
  /** Hears what is being started. */
  readonly onProgress?: (step: string) => void;
  /** Hears the subjects of the notices to operators; their texts are in the logs, in `notices.log`. */
  readonly onNotice?: (subject: string) => void;
  /** Gives up starting; of no more effect once the runtime is up. */
  readonly signal?: AbortSignal;
}

export interface LocalRuntime {
  readonly endpoints: Endpoints;
  /** Calls a function, the dispatcher only after the stream has been handled. @param event JSON */
  readonly invoke: FunctionFleet['invoke'];
  /** Waits until all that was written to the tables has been handled; false: not within `timeoutMs`. */
  readonly caughtUp: (timeoutMs: number) => Promise<boolean>;
  /** Resolves with the reason when a component ends by itself: the runtime is then of no more use. */
  readonly broken: Promise<string>;
  /** Lets batches under way finish for up to ten seconds, ends every process and removes the endpoints file. */
  stop(): Promise<void>;
}

/**
 * Starts everything that the synthesized template says on loopback (design §8).
 * @throws Error that names the component and what to do, or the signal's reason; what had been started is stopped again.
 */
export async function startLocalRuntime(options: LocalRuntimeOptions = {}): Promise<LocalRuntime> {
  const teardown = new Teardown();
  try {
    return await start(options, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function start(options: LocalRuntimeOptions, teardown: Teardown): Promise<LocalRuntime> {
  const onProgress = (step: string) => {
    options.signal?.throwIfAborted();
    options.onProgress?.(step);
  };
  const timing =
    options.schedule === undefined || options.schedule === 'off' ? undefined : parseSchedule(options.schedule);
  const directories = takeDirectories(options, teardown);
  const { logs, workDir, home, dataDir } = directories;
  const log = (line: string) =>
    appendFileSync(join(logs, 'runtime.log'), `${new Date().toISOString()} ${line.replaceAll('\n', ' ')}\n`);

  onProgress('stand-ins for DynamoDB, SQS and SES');
  const synthesis = synthesized(options, workDir, teardown);
  const ports = await choosePorts(home);
  const standIns = await startStandIns(dataDir, logs, join(workDir, 'cache'), ports, teardown);
  // Whatever is sent before the rules are known has nobody to tell.
  let publish: Publish = async () => {};
  const simulations = await startSimulations(standIns.ses, dataDir, ports, teardown, (event) => publish(event));
  const secretsFile = join(home, 'secrets.json');
  prepareSecrets(secretsFile, simulations.simulator);

  const stack = readAssembly(await synthesis);
  const plan = planFrom(stack, { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint: standIns.sqs });
  const clients = awsClients(standIns.dynamodb, standIns.sqs);
  teardown.add('clients', async () => clients.destroy());
  onProgress(`${plan.tables.length} tables and ${plan.queues.length} queues`);
  await Promise.all([
    createTables(clients.dynamodb, plan.tables),
    createQueues(clients.sqs, standIns.sqs, plan.queues),
  ]);

  const put = async (queue: string, body: string) => {
    await clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(standIns.sqs, queue), MessageBody: body }));
  };
  publish = eventBus(plan.eventRules, put, log);
  const notices = await showNotices({
    clients,
    sqsEndpoint: standIns.sqs,
    topics: plan.topics,
    file: join(logs, 'notices.log'),
    onNotice: (subject) => options.onNotice?.(subject),
    log,
  });
  teardown.add('notices', () => notices.stop());

  onProgress(`${plan.functions.length} functions and their event sources`);
  let endpoints: Endpoints | undefined;
  let fleet: FunctionFleet | undefined;
  let sources: Sources | undefined;
  const api = await startLambdaApi({
    port: options.port ?? ports.api,
    invoke: (name, event) => fleet?.invoke(name, event),
    caughtUp: async (timeoutMs) => (await sources?.caughtUp(timeoutMs)) ?? false,
    httpApi: createHttpApi(plan.httpApi, (name, event) => fleet?.invoke(name, event)),
    statusPage: () => statusPage(endpoints),
    log,
  });
  teardown.add('api', () => api.close());
  const services = { ...standIns, ...simulations, lambda: api.url };
  const record = () => recordProcesses(home, [...standIns.pids, ...(fleet?.pids() ?? [])]);
  const overrides = {
    secretsFile,
    ...(options.baseIntervalSeconds === undefined ? {} : { baseIntervalSeconds: options.baseIntervalSeconds }),
    ...(options.breaker === undefined ? {} : { breaker: options.breaker }),
    ...(timing === undefined ? {} : { sweepIntervalSeconds: secondsBetweenRuns(timing, new Date()) }),
  };
  fleet = startFunctions(plan, services, logs, record, overrides);
  const functions = fleet;
  teardown.add('functions', async () => functions.close());
  record();
  options.signal?.throwIfAborted();
  sources = startSources(plan, clients, {
    sqsEndpoint: standIns.sqs,
    ...(dataDir === undefined ? {} : { dataDir }),
    invoke: functions.invokeNow,
    log,
    giveUp: put,
  });
  const { caughtUp, stop } = sources;
  teardown.add('event sources', stop);
  functions.beforeScheduled(() => caughtUp(10_000));
  startSchedules(plan, options.schedule === 'off' ? 'off' : timing, functions, teardown, log);

  const outputs = overridden(plan.outputs, overrides, ['RetryPolicy', 'SweepIntervalSeconds']);
  endpoints = describeRuntime(
    { ...outputs, ApiUrl: api.url },
    {
      endpoints: {
        dynamodb: standIns.dynamodb,
        sqs: standIns.sqs,
        ses: simulations.ses,
        api: api.url,
        console: api.url,
        simulator: simulations.simulator,
      },
      functions: functions.byService(),
      logs,
      secrets_file: secretsFile,
    },
  );
  const file = endpointsFile(workDir);
  writeEndpoints(file, endpoints);
  teardown.add('endpoints file', async () => removeEndpoints(file));
  return {
    endpoints,
    invoke: functions.invoke,
    caughtUp,
    broken: standIns.broken,
    stop: () => teardown.run(),
  };
}

/** Awaited later; until then a failure does not count as unhandled. */
function synthesized(
  { assemblyDir, onProgress, signal }: LocalRuntimeOptions,
  workDir: string,
  teardown: Teardown,
): Promise<string> {
  if (assemblyDir !== undefined) return Promise.resolve(assemblyDir);
  const running = () => onProgress?.('the app, synthesized and bundled: once, until its sources change');
  const stop = new AbortController();
  const synthesis = synthesize(workDir, running, AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]));
  const settled = synthesis.then(
    () => {},
    () => {},
  );
  teardown.add('synthesis', () => {
    stop.abort();
    return settled;
  });
  return synthesis;
}

function startSchedules(
  plan: LocalPlan,
  sweep: Timing | 'off' | undefined,
  functions: FunctionFleet,
  teardown: Teardown,
  log: (line: string) => void,
): void {
  for (const { schedule, timing } of timedSchedules(plan, sweep)) {
    const stop = startSchedule(schedule, timing, async (name, event) => {
      const result = await functions.invoke(name, event);
      if (result !== undefined && !result.ok) log(`${name}, scheduled: ${result.error.errorMessage}`);
    });
    teardown.add('schedule', async () => stop());
  }
}
