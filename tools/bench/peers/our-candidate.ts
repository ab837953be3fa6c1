import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { PurgeQueueCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { createBatchStore } from '../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { countsOf } from '../../../src/core/newsletter/accounting/counts.ts';
import type { SweepResult } from '../../../src/core/sweep/sweep-run.ts';
import { awsClients } from '../../../src/local/emulator/aws-clients.ts';
import { startSqsEventSource } from '../../../src/local/emulator/sources/sqs-event-source.ts';
import type { Teardown } from '../../../src/local/processes/teardown.ts';
import { startLocalRuntime } from '../../../src/local/runtime/runtime.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import type { BenchContext } from '../benchmark.ts';
import { bundle, deployedFunctions, type MeasuredFunction, tableNames } from '../setup/function.ts';
import { standardLane, standardMapping } from '../setup/lanes.ts';
import { importMembers, newsletterNames, publish, receiptsOf } from '../setup/newsletter.ts';
import { dueAgain, putAll, seedDue } from '../setup/rows.ts';
import type { World } from '../setup/world.ts';
import type { MailingSystem } from './mailings.ts';
import type { Candidate, RunningWorker } from './rounds.ts';
import { treeOf } from './servers.ts';

const all = (value: number) => ({ urgent: value, important: value, normal: value, info: value });
/** Half a second: an answer of 503 is retried after one to two seconds, as by the peers. */
const RETRY_POLICY = JSON.stringify({ base_interval_seconds: 0.5, max_retries: all(100), retention_hours: all(24) });

interface Given {
  readonly count: number;
  /** Most webhooks of an invocation. */
  readonly batch: number;
  readonly url: string;
  readonly body: string;
  /** Seconds of a claim. */
  readonly patience: number;
  readonly servers: readonly number[];
}

/** The deployed send-webhook, with the calls that Lambda makes for it in this process. */
export async function ourCandidate(
  world: World,
  { count, batch, url, body, patience, servers }: Given,
): Promise<Candidate> {
  const { dynamodb, sqs } = world.clients;
  const { url: QueueUrl } = standardLane(world, 'send-webhook');
  const environment = {
    RETRY_POLICY,
    CLAIM_SECONDS: String(patience),
    SEND_TIMEOUT_SECONDS: String(Math.min(15, patience - 1)),
  };
  const VisibilityTimeout = String(patience + 1);
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout } }));
  const shape = { channel: 'webhook', recipient: url, body, integration: SAMPLE_INTEGRATIONS.webhook } as const;
  const items = await seedDue(world, count, shape);
  const dispatcher = world.start('dispatcher');
  let sweeping: Promise<SweepResult> | undefined;
  // The lanes of several workers look at the same rows, and a process runs one invocation at a time.
  const sweep = () => {
    sweeping ??= dispatcher
      .run([{}])
      .then(({ results }) => results[0] as SweepResult)
      .finally(() => {
        sweeping = undefined;
      });
    return sweeping;
  };
  const records = async () => {
    const TableName = tableNames(world).notification_retry_log;
    return (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table?.ItemCount ?? Number.NaN;
  };
  let [pass, before] = [0, 0];
  return {
    name: 'ours',
    servers,
    async enqueue(wanted) {
      before = await records();
      await sqs.send(new PurgeQueueCommand({ QueueUrl }));
      await putAll(world, tableNames(world).notification_log, dueAgain(items.slice(0, wanted), pass++));
      const { dispatched } = await sweep();
      if (dispatched !== wanted) throw new Error(`The sweep queued ${dispatched} of ${wanted}`);
    },
    async start(profiles) {
      const fn = world.start('send-webhook', {
        environment,
        // The names of the sources, by which the profile is divided, stand in a text that is not minified.
        ...(profiles !== undefined && {
          bundle: await bundle('functions/send-webhook/handler.ts', profiles, { minify: false }),
          nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-name=worker.cpuprofile'],
        }),
      });
      await fn.process.loaded;
      return runLane(world, fn, batch, sweep);
    },
    records: async () => (await records()) - before,
  };
}

/** Milliseconds without a message after which a sweep looks for what deaths have left, as the schedule does. */
const SWEEP_AFTER_MS = 4_000;

/** Gives the lane's messages to the worker as they are deployed, one batch after the other. */
function runLane(world: World, fn: MeasuredFunction, batchSize: number, sweep: () => Promise<unknown>): RunningWorker {
  const { url: queueUrl } = standardLane(world, 'send-webhook');
  let handledAt = Date.now();
  const source = startSqsEventSource({
    client: world.clients.sqs,
    queueUrl,
    mapping: { ...standardMapping(world, 'send-webhook'), batchSize },
    invoke(event) {
      handledAt = Date.now();
      return fn.process.invoke(randomUUID(), event);
    },
    log: () => {},
    concurrency: 1,
  });
  const timer = setInterval(() => {
    if (Date.now() - handledAt <= SWEEP_AFTER_MS) return;
    handledAt = Date.now();
    sweep().catch(() => {});
  }, 1_000);
  const end = async (how: () => unknown) => {
    clearInterval(timer);
    // From now on it receives nothing, so that a death leaves the batch under way and no other.
    const stopped = source.stop();
    await how();
    await stopped;
  };
  return {
    pids: [fn.process.pid],
    kill: () => end(() => fn.process.kill()),
    async stop() {
      await end(() => {});
      await fn.stop();
    },
  };
}

/** Which function a process runs; undefined for other processes, and for those that have ended. */
function functionOf(pid: number): string | undefined {
  try {
    return /(?:^|\0)AWS_LAMBDA_FUNCTION_NAME=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** The deployed functions on the local runtime, with their schedules as deployed. */
export async function ourMailings(
  context: BenchContext,
  { members, rate }: { readonly members: number; readonly rate: number },
  teardown: Teardown,
): Promise<MailingSystem> {
  const { dataDir, storeKeys } = await importMembers(context, 'mailings', members);
  const before = treeOf([process.pid]);
  const runtime = await startLocalRuntime({
    dataDir,
    workDir: dataDir,
    assemblyDir: context.stack.directory,
    sesLimits: { per_second: rate, per_day: -1 },
    schedule: 'off',
    console: false,
    onProgress: context.step,
  });
  teardown.add('local runtime', runtime.stop);
  const { dynamodb, sqs, ses } = runtime.endpoints.endpoints;
  const clients = awsClients(dynamodb, sqs);
  teardown.add('clients', async () => clients.destroy());
  const names = newsletterNames(deployedFunctions(context.stack, sqs));
  await storeKeys(clients.dynamodb, names.data_keys);
  const clock = () => new Date();
  const emails = createEmailStore(clients.dynamodb, names.emails, clock);
  const batches = createBatchStore(clients.dynamodb, names.batches, clock);
  const processes = () => treeOf([process.pid]);
  const standIns = processes().filter((pid) => !before.includes(pid) && functionOf(pid) === undefined);
  const services = Object.entries(runtime.endpoints.functions).filter(([service]) => service.startsWith('newsletter-'));
  const running = (among: typeof services) =>
    processes().filter((pid) => among.some(([, name]) => name === functionOf(pid)));
  const accepted = async () => {
    const limits = await (await fetch(`${ses}/_limits`)).json();
    return (limits as { readonly sent_24h: number }).sent_24h;
  };
  let [number, acceptedBefore] = [0, 0];
  const id = () => `mailing-${number}`;
  return {
    name: 'notification-retry',
    servers: () => standIns,
    workers: () => running(services),
    async order() {
      number += 1;
      acceptedBefore = await accepted();
      await publish(id(), names, clients);
    },
    // A message that was being handled stays hidden: the clock's next minute has the work done again.
    async kill() {
      const senders = services.filter(([service]) => service === 'newsletter-send');
      for (const pid of running(senders)) process.kill(pid, 'SIGKILL');
    },
    count: async () => (await accepted()) - acceptedBefore,
    mails: async () => (await receiptsOf(id(), ses)).map(({ to, at }) => ({ to, at: Date.parse(at) })),
    async told() {
      const email = await emails.read(id());
      if (email === undefined) throw new Error(`The email ${id()} is gone`);
      const { submitted, uncertain } = countsOf(email, await batches.list(id()));
      const ended = email.status === 'submitted' || email.status === 'failed';
      return { ended, status: email.status, sent: submitted, uncertain };
    },
  };
}
