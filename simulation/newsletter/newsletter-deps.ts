import { createCandidateReader } from '../../src/adapters/nql/candidate-reader.ts';
import type { PrepareMessage, SendMessage } from '../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../src/core/newsletter/model/job-limits.ts';
import type { BulkAnswer, BulkCall } from '../../src/core/newsletter/model/provider.ts';
import { createLateExclusions } from '../../src/core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../../src/core/newsletter/sending/send-pacing.ts';
import { Pacer } from '../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../src/core/pacing/pacing-policy.ts';
import type { PacingStore } from '../../src/core/pacing/registers.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { memberOf } from './given-members.ts';
import type { NewsletterWorld } from './newsletter-world.ts';
import { reportEvents } from './reported-events.ts';

/** Milliseconds of a call to DynamoDB and to SQS. */
const TABLE_MS = 6;
export const QUEUE_MS = 8;
/** As lib/constructs/newsletter/ sets it: batches at once of all emails. */
export const TOTAL_CONCURRENCY = 10;
const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

/** Storage refused a call, or its answer got lost. */
class StorageFault extends Error {
  override readonly name = 'ThrottlingException';
}

/** A call to storage, which may fail: before it was applied, or after. */
export function stored<A extends readonly unknown[], T>(
  { draw, scenario }: NewsletterWorld,
  worker: WorkerProcess,
  run: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  return (...args) =>
    worker.call(TABLE_MS, async () => {
      const fails = draw() < scenario.failing;
      if (fails && draw() < 0.5) throw new StorageFault('slow down');
      const result = await run(...args);
      if (fails) throw new StorageFault('the answer was lost');
      return result;
    });
}

/** Each method of a store as a call of the worker. */
function through<T extends object>(world: NewsletterWorld, worker: WorkerProcess, store: T): T {
  const methods = Object.entries(store).map(([name, run]) => [name, stored(world, worker, run)]);
  return Object.fromEntries(methods) as T;
}

/** What the use cases need, by way of a worker that can die. */
export function depsOf(world: NewsletterWorld, worker: WorkerProcess, remaining_ms: () => number) {
  const { tables, time, members } = world;
  const addresses = pagesThrough(world, worker);
  // A query is charged for whole items, whatever columns it asks for.
  const readers = createCandidateReader({ addresses, audience: (tenant) => addresses(tenant) }, members.sealing);
  const exclusions = createLateExclusions({ facts: stored(world, worker, members.store.facts) }, members.sealing);
  return {
    emails: through(world, worker, tables.emails),
    batches: through(world, worker, tables.batches),
    chunks: through(world, worker, tables.chunks),
    events: through(world, worker, tables.events),
    queues: {
      prepare: (message: PrepareMessage, delay?: number) =>
        worker.call(QUEUE_MS, () => world.send(world.prepares, message, delay)),
      send: (message: SendMessage, delay?: number) =>
        worker.call(QUEUE_MS, () => world.send(world.sends, message, delay)),
    },
    schedules: { create: async () => {}, remove: async () => {} },
    provider: { send: (call: BulkCall) => request(call, world, worker) },
    exclusions: {
      check: (...args: Parameters<typeof exclusions.check>) => {
        tables.units.read += args[1].length;
        return exclusions.check(...args);
      },
    },
    renderings: { of: async () => ({ subject: 'secret subject', html: '<p>secret body</p>', text: 'secret body' }) },
    unsubscribeUrl: async () => 'https://news.example.test/u',
    candidates: readers,
    parts: { of: async () => [] },
    warming: { reserve: async () => undefined, use: async () => {} },
    clock: time.clock,
    pause: time.pause,
    repeat: repeatWhileAlive(world, worker),
    newId: world.newId,
    remaining_ms,
    limits: DEFAULT_JOB_LIMITS,
    log: QUIET,
  };
}

function repeatWhileAlive({ time }: NewsletterWorld, worker: WorkerProcess) {
  return (ms: number, run: () => Promise<unknown>): (() => void) => {
    let stopped = false;
    const next = () => {
      if (stopped || worker.dead) return;
      void run().catch(() => undefined);
      time.at(time.now + ms, next);
    };
    time.at(time.now + ms, next);
    return () => {
      stopped = true;
    };
  };
}

/** Pages of members, each by a call of the worker. */
function pagesThrough(world: NewsletterWorld, worker: WorkerProcess) {
  const { store } = world.members;
  return async function* (tenant_id: string, after?: string) {
    const pages = store.addresses(tenant_id, after)[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await worker.call(TABLE_MS, () => pages.next());
      if (done) return;
      // Half a kilobyte per member, eventually consistent.
      world.tables.units.read += Math.ceil((value.length * 512) / 4_096) / 2;
      yield value;
    }
  };
}

/** One call to the provider. It takes effect when it arrives; a process that dies meanwhile gets no answer. */
async function request({ entries, timeout_ms }: BulkCall, world: NewsletterWorld, worker: WorkerProcess) {
  const { auditor, provider, time } = world;
  const taken = await worker.call(1, () => {
    auditor.called(
      worker,
      entries.map(({ to }) => memberOf(to)),
      time.now,
    );
    const taken = provider.take(entries, time.now);
    for (const { to } of taken.accepted) auditor.accepted(memberOf(to), time.now);
    world.accepted(taken.accepted.length);
    reportEvents(taken.accepted, world);
    return taken;
  });
  const { answer, after_ms = timeout_ms } = taken;
  await worker.call(after_ms, () => auditor.ended(worker));
  if (taken.after_ms !== undefined) return answer;
  world.count('answers lost');
  return { kind: 'unknown', error: 'TimeoutError' } satisfies BulkAnswer;
}

/** The budget of e-mail as the worker sees it. */
export function pacingOf(world: NewsletterWorld, worker: WorkerProcess) {
  const { budgets, time, draw, scenario, tables } = world;
  const { store } = budgets;
  const paced: PacingStore = {
    read: stored(world, worker, store.read),
    change: (...args) => {
      tables.units.write += 1;
      return stored(world, worker, store.change)(...args);
    },
  };
  const { per_second, per_day } = scenario.provider;
  const pacer = new Pacer({
    store: paced,
    channel: 'email',
    policy: DEFAULT_PACING_POLICY,
    clock: time.clock,
    random: draw,
    workers: TOTAL_CONCURRENCY,
    readLimits: () =>
      worker.call(TABLE_MS, () => ({
        per_second,
        max_24h: per_day,
        sent_24h: world.provider.sentInADay(time.now),
        sending: true,
        enforcement: 'HEALTHY',
        production: true,
      })),
  });
  return createSendPacing(pacer, { clock: time.clock, pause: time.pause });
}
