import { createCandidateReader } from '../../../src/adapters/nql/candidate-reader.ts';
import type { PrepareMessage, SendMessage } from '../../../src/core/newsletter/model/email-message.ts';
import type { AudienceQuery, JobEvent } from '../../../src/core/newsletter/model/ports.ts';
import type { BulkAnswer, BulkCall, BulkEntry } from '../../../src/core/newsletter/model/provider.ts';
import type { PartSegment } from '../../../src/core/newsletter/preparation/ports.ts';
import { createLateExclusions } from '../../../src/core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../../../src/core/newsletter/sending/send-pacing.ts';
import { Pacer } from '../../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../../src/core/pacing/pacing-policy.ts';
import type { PacingStore } from '../../../src/core/pacing/registers.ts';
import { between } from '../engine/virtual-time.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { memberOf } from './members.ts';
import type { NewsletterWorld } from './newsletter-world.ts';
import { CALL_MS, stored, through } from './stores.ts';

/** As lib/constructs/newsletter/ sets it: batches at once of all emails. */
export const TOTAL_CONCURRENCY = 10;

/** Milliseconds from an acceptance to its events: it was sent, it was delivered or bounced, somebody complained. */
const SENT_MS = [500, 10_000] as const;
const DELIVERED_MS = [1_000, 120_000] as const;
/** Longer than a call, so that the recipient of most is not claimed any more. */
const REFUSED_MS = [3_000, 20_000] as const;
const COMPLAINED_MS = [60_000, 1_800_000] as const;

const PAID_PART: PartSegment = {
  segment: 'status:paid',
  matches: ({ status }) => status === 'paid',
  fields: new Set(['status']),
};

/** What the use cases need, by way of a worker that can die. */
export function depsOf(world: NewsletterWorld, worker: WorkerProcess, remaining_ms: () => number) {
  const { tables, time, members, scenario } = world;
  const addresses = pagesThrough(world, worker);
  // A query is charged for whole items, whatever columns it asks for.
  const audience = ({ tenant_id }: AudienceQuery, after?: string) => addresses(tenant_id, after);
  // Nobody moves here.
  const moved = async () => undefined;
  const find = async () => ({ members: [], places: new Map() });
  const readers = createCandidateReader(
    { addressees: audience, audience, read: moved, address: moved, find },
    members.sealing,
  );
  const exclusions = createLateExclusions({ facts: stored(world, worker, members.store.facts) }, members.sealing);
  const { prepares, sends } = world;
  const called = <T extends object>(port: T) => through(world, worker, port);
  const queued = <T extends object>(port: T) => through(world, worker, port, true);
  return {
    emails: called(tables.emails),
    batches: called(tables.batches),
    chunks: called(tables.chunks),
    events: called(tables.events),
    newsletters: called({
      senders: async () => {
        // The tenant has the sender again only where it has no other.
        if (world.senders.length > 0) world.auditor.asked();
        return world.senders;
      },
      sendersAt: async () => [],
    }),
    queues: queued({
      prepare: async (message: PrepareMessage, delay?: number) => world.sendJob(prepares, message, delay),
      send: async (message: SendMessage, delay?: number) => world.sendJob(sends, message, delay),
    }),
    schedules: queued({
      create: async (email_id: string, at: string) =>
        world.later(Math.max(0, Date.parse(at) - time.now), () =>
          world.sendJob(prepares, { version: 1, kind: 'start', email_id }),
        ),
      remove: async () => {},
    }),
    provider: { send: (call: BulkCall) => request(call, world, worker) },
    exclusions: {
      check: (...args: Parameters<typeof exclusions.check>) => {
        tables.units.read += args[1].length;
        return exclusions.check(...args);
      },
    },
    renderings: {
      of: async () => ({ subject: ['secret subject'], html: ['<p>secret body</p>'], text: ['secret body'] }),
    },
    linkOf: async () => ({ unsubscribe_url: 'https://news.example.test/u', email_hash: 'hash' }),
    candidates: readers,
    parts: { of: async () => (scenario.parts ? [PAID_PART] : []) },
    warming: { left: async () => undefined, reserve: async () => undefined, settle: async () => {} },
    clock: time.clock,
    pause: time.pause,
    repeat: repeatWhileAlive(world, worker),
    newId: world.newId,
    remaining_ms,
    limits: world.limits,
    log: logOf(world),
  };
}

/** Counts the lines of the log that people look for, by their codes. */
export function logOf(world: NewsletterWorld) {
  const line = (text: string) => {
    const code = /^\[?[A-Z_]{8,}/.exec(text)?.[0];
    if (code !== undefined) world.count(`logged ${code}`);
  };
  return { info: line, warn: line, error: line, count: (what: JobEvent) => world.count(`alarm ${what}`) };
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
    const read = stored(world, worker, () => pages.next());
    for (;;) {
      const { done, value } = await read();
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
    const everybody = taken.everybody?.map(({ to }) => memberOf(to));
    if (everybody && !taken.late) auditor.refused(everybody);
    const takeEffect = () => {
      accept(taken.accepted, world);
      if (taken.late) refuseLate(taken.late, world, everybody);
    };
    if (taken.late_ms === undefined) takeEffect();
    else world.later(timeout_ms + taken.late_ms, takeEffect);
    return taken;
  });
  const { answer, after_ms = timeout_ms } = taken;
  await worker.call(after_ms, () => auditor.ended(worker));
  if (taken.after_ms !== undefined && answer.kind !== 'unknown') return answer;
  world.count('answers lost');
  return answer.kind === 'unknown' ? answer : ({ kind: 'unknown', error: 'TimeoutError' } satisfies BulkAnswer);
}

function accept(entries: readonly BulkEntry[], world: NewsletterWorld): void {
  world.accepted(entries.length);
  for (const entry of entries) {
    const told = reportEvents(entry, world);
    world.auditor.accepted(memberOf(entry.to), world.time.now, told);
  }
}

/** What was accepted, and is not sent on. Nobody but the event of it tells, so that does not get lost. */
function refuseLate(entries: readonly BulkEntry[], world: NewsletterWorld, everybody: readonly number[] = []): void {
  const { auditor, draw, events, time } = world;
  auditor.refusedLate(entries.length, everybody, time.now);
  for (const entry of entries) {
    const event = { ...placeOf(entry, world), event: 'Rendering Failure' };
    world.later(between(draw, ...REFUSED_MS), () => world.send(events, event));
  }
}

function placeOf(entry: BulkEntry, { time, provider }: NewsletterWorld) {
  const { email_id, chunk, n } = entry.tags;
  const at = time.clock().toISOString();
  const mail = { sent_at: at, provider_message_id: provider.mails.get(entry) };
  return { version: 1, at, ...mail, email_id, chunk, n: String(Number.parseInt(n, 10)) };
}

/** What the provider reports of an accepted mail, later and in any order. @returns whether anything of it comes */
function reportEvents(entry: BulkEntry, world: NewsletterWorld): boolean {
  const { draw, scenario } = world;
  const { lost, bounced, complained } = scenario.events;
  const place = placeOf(entry, world);
  let told = false;
  const emit = (event: string, [least, most]: readonly [number, number], more: object = {}) => {
    if (draw() < lost) return;
    told = true;
    world.later(between(draw, least, most), () => world.send(world.events, { ...place, event, ...more }));
  };
  emit('Send', SENT_MS);
  if (draw() < bounced) {
    emit('Bounce', DELIVERED_MS, { bounce: { type: 'Permanent', sub_type: 'General' } });
    return told;
  }
  emit('Delivery', DELIVERED_MS);
  if (draw() < complained) emit('Complaint', COMPLAINED_MS);
  return told;
}

/** The budget of e-mail as the worker sees it. */
export function pacingOf(world: NewsletterWorld, worker: WorkerProcess) {
  const { budgets, time, draw, scenario, tables } = world;
  const { store } = budgets;
  const paced: PacingStore = {
    read: stored(world, worker, store.read),
    change: (...args) => {
      tables.state.written(args[0], time.now);
      return stored(world, worker, store.change)(...args);
    },
  };
  const { per_second } = scenario.provider;
  const pacer = new Pacer({
    store: paced,
    channel: 'email',
    policy: DEFAULT_PACING_POLICY,
    clock: time.clock,
    random: draw,
    workers: TOTAL_CONCURRENCY,
    readLimits: () =>
      worker.call(CALL_MS[1], () => ({
        per_second,
        max_24h: world.provider.per_day,
        sent_24h: world.provider.sentInADay(time.now),
        sending: world.provider.isSending(time.now),
        enforcement: 'HEALTHY',
        production: true,
      })),
  });
  const pacing = createSendPacing(pacer, { clock: time.clock, pause: time.pause });
  return {
    ...pacing,
    reserve: async (...args: Parameters<typeof pacing.reserve>) => {
      const allowance = await pacing.reserve(...args);
      // An answer by what was known long ago is none.
      if (allowance.granted > 0 || !world.provider.hasRoom(time.now)) world.auditor.asked();
      return allowance;
    },
  };
}
