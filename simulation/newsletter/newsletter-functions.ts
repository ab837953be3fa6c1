import { applyEvents } from '../../src/core/newsletter/events/apply-events.ts';
import type { NewsletterEvent } from '../../src/core/newsletter/events/newsletter-event.ts';
import { runClock } from '../../src/core/newsletter/lifecycle/advance.ts';
import { countEmail, startEmail } from '../../src/core/newsletter/lifecycle/start.ts';
import type { PrepareMessage, SendMessage } from '../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../src/core/newsletter/model/job-limits.ts';
import { recordLate } from '../../src/core/newsletter/sending/record-outcome.ts';
import { sendBatch } from '../../src/core/newsletter/sending/send-batch.ts';
import type { SendDeps } from '../../src/core/newsletter/sending/send-deps.ts';
import type { EventSourceOptions, QueueFunction } from '../models/event-source.ts';
import { EventSource } from '../models/event-source.ts';
import type { Received, SimulatedQueue } from '../models/queue.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { depsOf, pacingOf, QUEUE_MS, stored, TOTAL_CONCURRENCY } from './newsletter-deps.ts';
import type { NewsletterWorld } from './newsletter-world.ts';

/** As lib/constructs/newsletter/ sets them. */
const JOB = { batch: 1, window_ms: 0, timeout_ms: 900_000 };
const PREPARE_CONCURRENCY = 2;
const EVENTS: Omit<EventSourceOptions, 'deaths'> = {
  concurrency: 5,
  batch: 1_000,
  window_ms: 5_000,
  timeout_ms: 60_000,
};
/** Calls of a preparation and of a batch of 1,000 recipients, about. */
const JOB_CALLS = 160;

/** How much a function was used. */
export type FunctionUse = Pick<EventSource<unknown>, 'invocations' | 'busy_ms'>;

/** Puts the functions of newsletters on their queues. */
export function connectFunctions(world: NewsletterWorld): readonly FunctionUse[] {
  const { deaths } = world.scenario;
  const job = (concurrency: number) => ({ ...JOB, concurrency, deaths, calls: JOB_CALLS });
  return [
    new EventSource(world.machine('prepare'), world.prepares, prepareFunction(world), job(PREPARE_CONCURRENCY)),
    new EventSource(world.machine('send'), world.sends, sendFunction(world), job(TOTAL_CONCURRENCY)),
    new EventSource(world.machine('events'), world.events, eventsFunction(world), { ...EVENTS, deaths }),
  ];
}

/** The clock's function runs each minute. */
export async function runClockOnce(world: NewsletterWorld, worker: WorkerProcess): Promise<void> {
  await runClock(depsOf(world, worker, () => JOB.timeout_ms)).catch(() => world.count('clock failed'));
}

/** As an operator who publishes reaches the tables: nothing dies or fails. */
export function publishDeps(world: NewsletterWorld) {
  const { tables, time, prepares } = world;
  return {
    emails: tables.emails,
    queues: {
      prepare: async (message: PrepareMessage) => world.send(prepares, message),
      send: async () => {},
    },
    schedules: { create: async () => {}, remove: async () => {} },
    clock: time.clock,
    limits: DEFAULT_JOB_LIMITS,
  };
}

function prepareFunction(world: NewsletterWorld): QueueFunction<PrepareMessage> {
  return jobFunction(world, world.prepares, async ({ kind, email_id }, deps) => {
    if (kind === 'count') await countEmail(email_id, deps);
    else await startEmail(email_id, deps);
  });
}

function sendFunction(world: NewsletterWorld): QueueFunction<SendMessage> {
  return jobFunction(world, world.sends, async (message, deps) => {
    if (message.kind === 'resolve') throw new Error('No operator decides about uncertain recipients here.');
    if (message.kind === 'record') await recordLate(message, deps);
    else world.count(`batches ${(await sendBatch(message, deps)).result}`);
  });
}

type JobDeps = ReturnType<typeof depsOf> & Pick<SendDeps, 'pacing'>;

/** One message per invocation, as functions/shared/newsletter/message-function.ts handles it. */
function jobFunction<M>(
  world: NewsletterWorld,
  queue: SimulatedQueue<M>,
  run: (message: M, deps: JobDeps) => Promise<void>,
): QueueFunction<M> {
  return {
    start(worker) {
      const pacing = pacingOf(world, worker);
      return async ([received], remaining) => {
        if (received === undefined) return;
        const done = await run(received.message, { ...depsOf(world, worker, remaining), pacing }).then(
          () => true,
          () => false,
        );
        await settle(worker, queue, done ? [received] : []);
        if (!done) world.count('messages that come again');
      };
    },
  };
}

function eventsFunction(world: NewsletterWorld): QueueFunction<NewsletterEvent> {
  return {
    start: (worker) => async (batch, remaining) => {
      const { batches, chunks, events, clock } = depsOf(world, worker, remaining);
      const { store, sealing } = world.members;
      const members = { suppress: stored(world, worker, store.suppress), read: stored(world, worker, store.read) };
      const deps = { batches, chunks, events, members, sealing, warming: { report: async () => {} }, clock };
      const groups = Map.groupBy(batch, ({ message }) => `${message.email_id}#${message.batch_id}`);
      const done = await Promise.all(
        [...groups.values()].map(async (group) => {
          const { email_id = '', batch_id = '' } = group[0]?.message ?? {};
          const given = group.map(({ message }) => message);
          const applied = await applyEvents(email_id, batch_id, given, deps).catch(() => undefined);
          world.count('reconciled by events', applied?.reconciled ?? 0);
          return applied === undefined ? [] : group;
        }),
      );
      await settle(worker, world.events, done.flat());
    },
  };
}

function settle<M>(worker: WorkerProcess, queue: SimulatedQueue<M>, done: readonly Received<M>[]): Promise<void> {
  return worker.call(QUEUE_MS, () => {
    queue.requests += Math.ceil(done.length / 10);
    for (const { message_id } of done) queue.delete(message_id);
  });
}
