import { parsePrepareMessage, parseSendMessage } from '../../src/adapters/sqs/newsletter-messages.ts';
import { applyEvents, type NewsletterEvent } from '../../src/core/newsletter/events/apply-events.ts';
import { continueResolve } from '../../src/core/newsletter/lifecycle/resolve.ts';
import { countEmail, startEmail } from '../../src/core/newsletter/lifecycle/start.ts';
import type { PrepareMessage, SendMessage } from '../../src/core/newsletter/model/email-message.ts';
import { recordLate } from '../../src/core/newsletter/sending/record-outcome.ts';
import { sendBatch } from '../../src/core/newsletter/sending/send-batch.ts';
import type { SendDeps } from '../../src/core/newsletter/sending/send-deps.ts';
import { EventSource, type EventSourceOptions, type QueueFunction } from '../models/event-source.ts';
import type { Received, SimulatedQueue } from '../models/queue.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { NO_FAULTS } from '../scenarios/newsletter-scenario.ts';
import { CALL_MS, through } from './calls.ts';
import { depsOf, pacingOf, TOTAL_CONCURRENCY } from './newsletter-deps.ts';
import type { NewsletterWorld } from './newsletter-world.ts';

/** As lib/constructs/newsletter/ sets them. */
const PREPARE_CONCURRENCY = 2;
const EVENTS = { concurrency: 5, batch: 1_000, window_ms: 5_000, timeout_ms: 60_000 };

/** How much a function was used. */
export type FunctionUse = Pick<EventSource<unknown>, 'invocations' | 'busy_ms'>;

/** Puts the functions of newsletters on their queues. */
export function connectFunctions(world: NewsletterWorld): readonly FunctionUse[] {
  const { sure } = world.scenario.events;
  const job = (concurrency: number): EventSourceOptions => ({
    ...{ concurrency, batch: 1, window_ms: 0, timeout_ms: world.limit_ms },
    faults: () => world.faults,
  });
  const events = { ...EVENTS, faults: () => ({ deaths: sure ? 0 : world.faults.deaths }) };
  return [
    new EventSource(world.machine('prepare'), world.prepares, prepareFunction(world), job(PREPARE_CONCURRENCY)),
    new EventSource(world.machine('send'), world.sends, sendFunction(world), job(TOTAL_CONCURRENCY)),
    new EventSource(world.machine('events'), world.events, eventsFunction(world), events),
  ];
}

function prepareFunction(world: NewsletterWorld): QueueFunction<PrepareMessage> {
  return jobFunction(world, world.prepares, parsePrepareMessage, async ({ kind, email_id }, deps) => {
    if (kind === 'count') await countEmail(email_id, deps);
    else await startEmail(email_id, deps);
  });
}

function sendFunction(world: NewsletterWorld): QueueFunction<SendMessage> {
  return jobFunction(world, world.sends, parseSendMessage, async (message, deps) => {
    if (message.kind === 'resolve') {
      world.count('decisions continued');
      const more = await continueResolve(message, deps);
      if (more !== undefined && message.action === 'resend') world.count('resent', more.resolved);
    } else if (message.kind === 'record') {
      world.count('late records');
      await recordLate(message, deps);
    } else world.count(`batches ${(await sendBatch(message, deps)).result}`);
  });
}

type JobDeps = ReturnType<typeof depsOf> & Pick<SendDeps, 'pacing'>;

/** One message per invocation, as functions/shared/newsletter/bind-newsletter.ts handles it. */
function jobFunction<M>(
  world: NewsletterWorld,
  queue: SimulatedQueue<M>,
  parse: (body: string) => M,
  run: (message: M, deps: JobDeps) => Promise<void>,
): QueueFunction<M> {
  return {
    start(worker) {
      const pacing = pacingOf(world, worker);
      return async ([received], remaining) => {
        if (received === undefined) return;
        world.running.add(worker);
        try {
          await run(parse(JSON.stringify(received.message)), { ...depsOf(world, worker, remaining), pacing });
          await settle(worker, queue, [received]);
        } catch (error) {
          world.threw(error);
          world.count('messages that come again');
        }
        world.running.delete(worker);
      };
    },
  };
}

function eventsFunction(world: NewsletterWorld): QueueFunction<NewsletterEvent> {
  const { tables, members, time, draw } = world;
  const around = world.scenario.events.sure ? { time, draw, faults: NO_FAULTS } : world;
  return {
    start: (worker) => async (batch) => {
      const deps = {
        emails: through(around, worker, tables.emails),
        batches: through(around, worker, tables.batches),
        chunks: through(around, worker, tables.chunks),
        events: through(around, worker, tables.events),
        members: through(around, worker, { suppress: members.store.suppress, read: members.store.read }),
        sealing: members.sealing,
        warming: { report: async () => {} },
        clock: time.clock,
      };
      const groups = Map.groupBy(batch, ({ message }) => `${message.email_id}#${message.batch_id}`);
      const done = await Promise.all(
        [...groups.values()].map(async (group) => {
          const { email_id = '', batch_id = '' } = group[0]?.message ?? {};
          const given = group.map(({ message }) => message);
          try {
            const applied = await applyEvents(email_id, batch_id, given, deps);
            world.count('reconciled by events', applied.reconciled);
            return group;
          } catch (error) {
            world.threw(error);
            return [];
          }
        }),
      );
      await settle(worker, world.events, done.flat());
    },
  };
}

function settle<M>(worker: WorkerProcess, queue: SimulatedQueue<M>, done: readonly Received<M>[]): Promise<void> {
  return worker.call(CALL_MS[1], () => {
    queue.requests += Math.ceil(done.length / 10);
    for (const { message_id } of done) queue.delete(message_id);
  });
}
