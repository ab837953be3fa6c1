import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { buildConsole, CONSOLE_PAGE } from '../../../console/build.ts';
import { createDeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { ownLocalDeployment } from '../../adapters/deployment/local-deployment.ts';
import { openConsole } from '../../console-server/serve-console.ts';
import { bind } from '../../http/loopback-server.ts';
import { startOneTimeSchedules } from '../emulator/events/one-time-schedules.ts';
import { createHttpApi, isAllowed } from '../emulator/http-api/http-api.ts';
import { type LocalOverrides, overridden } from '../emulator/lambda/environment.ts';
import type { InvokeByName } from '../emulator/lambda/invocation.ts';
import { createLambdaApi } from '../emulator/lambda/lambda-api.ts';
import { withOrigins } from '../emulator/template/http-apis.ts';
import { type HeldPort, holdPorts } from '../processes/tcp-ports.ts';
import { Teardown } from '../processes/teardown.ts';
import type { SesLimits } from '../providers/ses/sending-limits.ts';
import { type Providers, startProviders } from '../providers/start-providers.ts';
import { type StandIns, startStandIns } from '../stand-ins/stand-ins.ts';
import { fileLog, type Log, writeWhole } from '../support/running.ts';
import { createStack } from './create-stack.ts';
import { endpointsFile, takeDirectories } from './directories.ts';
import { describeRuntime, type Endpoints, removeEndpoints } from './endpoints-file.ts';
import { overridesFrom, runFunctions, sweepTiming } from './run-functions.ts';
import { prepareSecrets } from './secrets-file.ts';
import { type LocalParts, startSynthesis } from './synthesize.ts';

export interface LocalRuntimeOptions {
  /** Directory that keeps tables, queues and keys; undefined: nothing survives the runtime. */
  readonly dataDir?: string;
  /** Replaces the unit of backoff, in seconds. */
  readonly baseIntervalSeconds?: number;
  /** Replaces settings of the breakers. Without it the base interval shortens their intervals in proportion. */
  readonly breaker?: LocalOverrides['breaker'];
  /** URL that functions call in place of the DynamoDB stand-in: a proxy that makes it fail. */
  readonly functionsDynamodb?: string;
  /** The same in place of the SQS stand-in. */
  readonly functionsSqs?: string;
  /** What the local SES allows; generous unless given. */
  readonly sesLimits?: Partial<SesLimits>;
  /** `cron(…)` or `rate(…)` in place of the template's schedule of the sweep, or `off`. */
  readonly schedule?: string;
  /** Origins whose web pages may call the API, beside those of the stage's configuration. */
  readonly corsOrigins?: readonly string[];
  /** Port of the API; 0 or undefined: any free port. */
  readonly port?: number;
  /** Directory of the endpoints file, the logs and the synthesized app. */
  readonly workDir?: string;
  /** The parts of the stage; everything unless given. */
  readonly parts?: LocalParts;
  /** An app that is synthesized already; undefined: this project's app. */
  readonly assemblyDir?: string;
  /** False without the console: for an app that is not this project's. */
  readonly console?: boolean;
  /** Takes a description of each step of the start. */
  readonly onProgress?: (step: string) => void;
  /** Takes the subjects of the notices to operators. Their texts are in `notices.log` of the logs. */
  readonly onNotice?: (subject: string) => void;
  /** Gives up the start; has no effect once the runtime is up. */
  readonly signal?: AbortSignal;
}

export interface LocalRuntime {
  readonly endpoints: Endpoints;
  /** Calls a function with JSON; one that a schedule calls waits for the rows that were put before. */
  readonly invoke: InvokeByName;
  /** Waits until all rows that were put before have been handled; false when this takes longer than `timeoutMs`. */
  readonly caughtUp: (timeoutMs: number) => Promise<boolean>;
  /** Resolves with the reason when a component ends by itself. The runtime is of no use after that. */
  readonly broken: Promise<string>;
  /** Lets running batches finish for up to ten seconds, ends every process and removes the endpoints file. */
  stop(): Promise<void>;
}

/**
 * Starts everything that the synthesized template describes, on loopback.
 * @throws Error that names the component and what to do, or the signal's reason; what had started is stopped again
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

/** Stand-ins, then the stack on them, then the providers, the functions with their event sources, and the API. */
async function start(options: LocalRuntimeOptions, teardown: Teardown): Promise<LocalRuntime> {
  const report = (step: string) => {
    options.signal?.throwIfAborted();
    options.onProgress?.(step);
  };
  const sweep = sweepTiming(options.schedule);
  const directories = takeDirectories(options, teardown);
  const { logs, workDir, home, dataDir } = directories;
  const log = fileLog(join(logs, 'runtime.log'));

  report('stand-ins for DynamoDB, SQS and SES');
  const synthesis = startSynthesis(options, workDir, teardown);
  const ports = await holdPorts(home, teardown);
  const standIns = await startStandIns({ dataDir, logs, cacheDir: join(workDir, 'cache'), ports, teardown });

  const assembly = await synthesis;
  const onNotice = (subject: string) => options.onNotice?.(subject);
  const stack = await createStack({ assembly, standIns, logs, log, report, onNotice, teardown });
  const { plan, publish } = stack;
  const providers = await startProviders({
    sesStandIn: standIns.ses,
    sesLimits: options.sesLimits,
    publish,
    configurationSets: plan.configurationSets,
    dataDir,
    ports,
    teardown,
  });
  const secretsFile = join(home, 'secrets.json');
  prepareSecrets(secretsFile, providers.simulator);

  report(`${plan.functions.length} functions and their event sources`);
  // The functions need the API's URL, and the API needs the functions: it answers once they are there.
  const apiPlan = withOrigins(plan.httpApi, options.corsOrigins ?? []);
  // Its other paths invoke functions without a key: they stay closed to every page.
  const allowPage = (origin: string, path: string) => path.startsWith('/v1/') && isAllowed(apiPlan.cors, origin);
  const api = await bind(options.port ?? (await ports.api.take()), 'the API', { allowPage });
  teardown.add('API', () => api.close());
  const overrides = overridesFrom(options, sweep, secretsFile);
  const functions = runFunctions({
    stack,
    services: {
      dynamodb: options.functionsDynamodb ?? standIns.dynamodb,
      sqs: options.functionsSqs ?? standIns.sqs,
      ...providers,
      lambda: api.url,
    },
    overrides,
    sweep,
    directories,
    standInPids: standIns.pids,
    log,
    signal: options.signal,
    teardown,
  });
  const { invoke, caughtUp } = functions;
  stack.reachFunctions(invoke);

  const endpoints = describeRuntime(
    {
      ...overridden(plan.outputs, overrides, ['RetryPolicy', 'SweepIntervalSeconds']),
      ...(plan.outputs['ApiUrl'] !== undefined && { ApiUrl: api.url }),
    },
    {
      endpoints: addressesOf(standIns, providers, api.url, ports.console.port),
      functions: functions.byService,
      logs,
      secrets_file: secretsFile,
    },
  );
  const httpApi = createHttpApi(apiPlan, invoke);
  const schedules = startOneTimeSchedules({
    send: stack.send,
    log,
    ...(dataDir !== undefined && { file: join(dataDir, 'schedules.json') }),
  });
  teardown.add('one-time schedules', async () => schedules.stop());
  api.serve(createLambdaApi({ invoke, caughtUp, httpApi, scheduler: schedules.handle, log, signal: api.closing }));
  if (options.console !== false) await startConsole({ endpoints, port: ports.console, log, teardown });
  const file = endpointsFile(workDir);
  writeWhole(file, endpoints);
  teardown.add('endpoints file', async () => removeEndpoints(file));
  return { endpoints, invoke, caughtUp, broken: standIns.broken, stop: () => teardown.run() };
}

/** Where each of its services listens. */
function addressesOf(
  { dynamodb, sqs }: StandIns,
  { ses, simulator, outcomes }: Providers,
  api: string,
  consolePort: number,
): Endpoints['endpoints'] {
  return { dynamodb, sqs, ses, api, console: `http://127.0.0.1:${consolePort}`, simulator, outcomes };
}

interface ConsoleStart {
  readonly endpoints: Endpoints;
  readonly port: HeldPort;
  readonly log: Log;
  readonly teardown: Teardown;
}

/** Serves the console on an origin of its own. Every program of this machine is an operator here. */
async function startConsole({ endpoints, port, log, teardown }: ConsoleStart): Promise<void> {
  const deployment = ownLocalDeployment(endpoints);
  const clients = createDeploymentClients(deployment);
  buildConsole(CONSOLE_PAGE);
  const opened = await openConsole({
    ...clients,
    deployment,
    clock: () => new Date(),
    newId: randomUUID,
    stage: 'local',
    region: endpoints.region,
    local: true,
    onRecord: ({ who, what, on, result }) =>
      log(`audit: ${who} ${what} ${on.join(' ')} ${JSON.stringify(result ?? 'begun')}`),
    onFault: (error, route) => log(`console: ${route}: ${error instanceof Error ? error.stack : error}`),
    page: CONSOLE_PAGE,
    port: await port.take(),
    token: false,
  });
  await opened.resume();
  teardown.add('console', async () => {
    await opened.close();
    clients.destroy();
  });
}
