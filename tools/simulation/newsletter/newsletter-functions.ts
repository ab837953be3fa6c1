import type { Observability } from '../../../functions/shared/runtime/observability.ts';
import { SOURCE_RETRIES } from '../../../src/core/newsletter/model/job-limits.ts';
import type { SendDeps } from '../../../src/core/newsletter/sending/send-deps.ts';
import { DEFAULT_PACING_POLICY } from '../../../src/core/pacing/pacing-policy.ts';
import { EventSource, type EventSourceOptions, type Handler } from '../models/event-source.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { NO_FAULTS } from '../scenarios/newsletter-scenario.ts';
import { loadedIn } from '../world/ports.ts';
import { depsOf, logOf, pacingOf, TOTAL_CONCURRENCY } from './newsletter-deps.ts';
import type { NewsletterWorld } from './newsletter-world.ts';
import { CALL_MS, through } from './stores.ts';

const PACING = { ...DEFAULT_PACING_POLICY, workers: TOTAL_CONCURRENCY };
const TABLES = ['NEWSLETTERS', 'EMAILS', 'EMAIL_BATCHES', 'EMAIL_RECIPIENTS', 'MEMBERS', 'PIPELINE_STATE', 'DATA_KEYS'];
const ENVIRONMENT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(TABLES.map((name) => [`${name}_TABLE`, name])),
  AWS_REGION: 'us-east-1',
  LOCAL_SECRETS_FILE: '/none',
  API_URL: 'https://news.example.test',
  NEWSLETTER_PREPARE_QUEUE: 'https://sqs/1/prepare',
  NEWSLETTER_SEND_QUEUE: 'https://sqs/1/send',
  NEWSLETTER_RETRIES: JSON.stringify(SOURCE_RETRIES),
  PACING: JSON.stringify(PACING),
  BATCH_CONCURRENCY: '2',
  UNCERTAIN_MINUTES: '60',
  RECIPIENT_DAYS: '30',
  NEWSLETTER_CONFIGURATION_SET: 'news',
};

/** As they are deployed. */
const [prepare, send, events] = await loadedIn(ENVIRONMENT, () =>
  Promise.all([
    import('../../../functions/newsletter-prepare/handler.ts'),
    import('../../../functions/newsletter-send/handler.ts'),
    import('../../../functions/newsletter-events/handler.ts'),
  ]),
);

/** As lib/constructs/newsletter/ sets them. */
const PREPARE_CONCURRENCY = 2;
const EVENTS = {
  concurrency: 5,
  batch: 1_000,
  window_ms: 5_000,
  timeout_ms: 60_000,
  memory_gb: 0.25,
  settle_ms: CALL_MS[1],
};

type Job = ReturnType<typeof depsOf> & Pick<SendDeps, 'pacing'> & { readonly dry_runs: never };

/** Puts the functions of newsletters on their queues. */
export function connectFunctions(world: NewsletterWorld): void {
  const { sure } = world.scenario.events;
  const job = (concurrency: number): EventSourceOptions => ({
    concurrency,
    batch: 1,
    window_ms: 0,
    timeout_ms: world.limit_ms,
    memory_gb: 0.5,
    settle_ms: CALL_MS[1],
    faults: () => world.faults,
  });
  const told = { ...EVENTS, faults: () => ({ deaths: sure ? 0 : world.faults.deaths }) };
  const prepares = jobFunction(world, prepare.createHandler);
  const sends = jobFunction(world, send.createHandler);
  world.sources.push(
    new EventSource(world.machine('prepare'), world.prepares, prepares, job(PREPARE_CONCURRENCY)),
    new EventSource(world.machine('send'), world.sends, sends, job(TOTAL_CONCURRENCY)),
    new EventSource(world.machine('events'), world.events, eventsFunction(world), told),
  );
}

function jobFunction(world: NewsletterWorld, createHandler: (deps: Job, observability: Observability) => Handler) {
  return (worker: WorkerProcess): Handler => {
    let left_ms = () => 0;
    const deps = { ...depsOf(world, worker, () => left_ms()), pacing: pacingOf(world, worker) };
    // Nobody asks for a dry run.
    const handler = createHandler(deps as Job, observed(world));
    return async (event, context) => {
      left_ms = () => context.getRemainingTimeInMillis();
      world.running.add(worker);
      const answer = await handler(event, context);
      world.running.delete(worker);
      world.count('messages that come again', answer.batchItemFailures.length);
      return answer;
    };
  };
}

function eventsFunction(world: NewsletterWorld) {
  const { tables, members, time, draw } = world;
  const around = world.scenario.events.sure ? { time, draw, faults: NO_FAULTS } : world;
  return (worker: WorkerProcess): Handler => {
    const deps = {
      emails: through(around, worker, tables.emails),
      batches: through(around, worker, tables.batches),
      chunks: through(around, worker, tables.chunks),
      events: through(around, worker, tables.events),
      members: through(around, worker, { suppress: members.store.suppress, read: members.store.read }),
      sealing: members.sealing,
      warming: { report: async () => {} },
      clock: time.clock,
      limits: world.limits,
      log: logOf(world),
    };
    return events.createHandler(deps, observed(world));
  };
}

/** What their lines of the log say of what they did. */
function observed(world: NewsletterWorld): Observability {
  const info = (line: string, { result, action, resolved, reconciled }: Readonly<Record<string, unknown>>) => {
    if (line === 'batch') world.count(`batches ${result}`);
    if (line === 'late outcome recorded') world.count('late records');
    if (line === 'decision') world.count('decisions continued');
    if (action === 'resend') world.count('resent', Number(resolved));
    if (line === 'newsletter events') world.count('reconciled by events', Number(reconciled));
  };
  const error = (_: string, { error }: { readonly error?: unknown }) => world.fault(error);
  return { logger: { info, error }, metrics: { addMetric: () => {} } } as unknown as Observability;
}
