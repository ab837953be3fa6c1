import { VirtualTime } from '../../../../simulation/engine/virtual-time.ts';
import { MemoryChunks, MemoryEmails } from '../../../../src/adapters/memory/newsletter/memory-items.ts';
import { Problem } from '../../../../src/core/model/problem.ts';
import { runClock } from '../../../../src/core/newsletter/lifecycle/advance.ts';
import { publishEmail } from '../../../../src/core/newsletter/lifecycle/publish.ts';
import { continueResolve, type Resolved, resolveEmail } from '../../../../src/core/newsletter/lifecycle/resolve.ts';
import { countEmail, startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import type { PrepareMessage, SendMessage } from '../../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS, type JobLimits } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { JobEvent } from '../../../../src/core/newsletter/model/job-log.ts';
import type { MemberProfile } from '../../../../src/core/newsletter/model/member.ts';
import type { ExclusionReason } from '../../../../src/core/newsletter/model/recipient-state.ts';
import { recordLate } from '../../../../src/core/newsletter/sending/record-outcome.ts';
import { sendBatch } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { emailContent } from '../job-rows.ts';
import { AcceptedEvents } from './accepted-events.ts';
import { candidatePages, type GivenMember } from './given-members.ts';
import { Died, Process, through } from './process.ts';
import { Provider, type Receipt } from './provider.ts';
import { FaultyQueue } from './queue.ts';

const EMAIL = 'email-1';
const TENANT = 'tenant-1';
/** Small, so that a few members make several batches and chunks. */
const LIMITS: JobLimits = {
  ...DEFAULT_JOB_LIMITS,
  batch_size: 6,
  chunk_size: 3,
  cut_recipients: 8,
  /** Shorter, so that more histories get that far; events come within seven minutes of a lost call here. */
  uncertain_ms: 8 * 60_000,
  resolve_ms: 0,
  resolve_group: 1,
};

/** How an email is published. */
export interface Publishing {
  readonly window_minutes: number | undefined;
  readonly delay_s: number | undefined;
}

/** What happens to the processes of a history. */
export interface Faults {
  readonly seed: number;
  /** Deaths of every n-th process, at a random call; 0: none. */
  readonly death_every: number;
  readonly failing: number;
  readonly stalling: number;
  readonly lost_messages: number;
  readonly duplicated_messages: number;
  readonly lost_events: number;
  /** Storage is down between these seconds. */
  readonly outages: readonly (readonly [number, number])[];
  /** An invocation ends after so long. */
  readonly limit_ms: number;
}

/** The job on the in-memory twins in virtual time; every call to the outside may fail. */
export class NewsletterWorld {
  readonly time = new VirtualTime(new Date('2026-03-01T10:00:00.000Z'));
  readonly clock = this.time.clock;
  readonly tables = new MemoryEmails(this.clock);
  readonly chunks = new MemoryChunks();
  readonly provider: Provider;
  readonly queue: FaultyQueue;
  readonly members: readonly GivenMember[];
  readonly unsubscribed = new Map<string, number>();
  readonly log: string[] = [];
  deaths = 0;
  late_records = 0;
  continued_decisions = 0;
  /** Runs of the clock that found an email pending, and due: whoever was to start it did not. */
  late_starts = 0;
  /** Uncertain recipients that an operator's resend reached, and those that it found too young. */
  resent = 0;
  waiting = 0;
  healed = false;
  limits: JobLimits;
  /** What operators are alarmed of. */
  readonly counted: JobEvent[] = [];
  readonly #faults: Faults;
  readonly #begun = this.clock().getTime();
  readonly #alive = new Set<Process>();
  readonly #events: AcceptedEvents;
  #processes = 0;
  #ids = 0;
  #seed: number;

  constructor(members: readonly GivenMember[], faults: Faults, limits: Partial<JobLimits> = {}) {
    this.limits = { ...LIMITS, ...limits };
    this.members = members;
    this.#faults = faults;
    this.#seed = faults.seed;
    this.provider = new Provider(this.time, this.random);
    const { time, random } = this;
    this.queue = new FaultyQueue({ time, random, isHealed: () => this.healed, faults });
    const stores = { events: this.tables.events, batches: this.tables.batches, chunks: this.chunks.store };
    const events = { time, random, stores, chunk_size: this.limits.chunk_size, lost: faults.lost_events };
    this.#events = new AcceptedEvents(events);
    this.provider.onAccepted = (receipt) => this.#events.emit(receipt);
  }

  /** Repeatable draws (a linear congruential generator). */
  readonly random = (): number => {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#seed / 2 ** 32;
  };

  /** @param delay_s the email is scheduled so much later; undefined: it is sent at once */
  publish({ window_minutes, delay_s }: Publishing): Promise<void> {
    const at = delay_s === undefined ? undefined : new Date(this.#begun + delay_s * 1000).toISOString();
    return this.#runProcess((process) =>
      publishEmail(
        {
          email_id: EMAIL,
          request_hash: 'hash',
          tenant_id: TENANT,
          content: emailContent(),
          ...(window_minutes !== undefined && { delivery_window_minutes: window_minutes }),
          ...(at !== undefined && { scheduled_at: at }),
        },
        { ...this.deps(process), emails: through(process, this.tables.emails) },
      ),
    );
  }

  /** One use case of an operator, by a process of its own; what it throws is returned. */
  async operate(run: (deps: ReturnType<NewsletterWorld['deps']>) => Promise<unknown>): Promise<unknown> {
    const process = this.#newProcess();
    try {
      return await run(this.deps(process));
    } catch (error) {
      return error;
    }
  }

  /** Everything that runs ends at once, as with its machine. */
  killAll(): void {
    for (const process of this.#alive) process.dead = true;
    this.deaths += this.#alive.size;
  }

  killOne(): void {
    const [process] = this.#alive;
    if (process === undefined) return;
    process.dead = true;
    this.deaths += 1;
  }

  unsubscribe(index: number): void {
    const member = this.members[index % Math.max(1, this.members.length)];
    if (member !== undefined && !this.unsubscribed.has(member.address)) {
      this.unsubscribed.set(member.address, this.clock().getTime());
    }
  }

  async tick(): Promise<void> {
    const due = await this.tables.emails.due(this.clock().toISOString(), 1);
    if (due.some(({ status, paused }) => status === 'pending' && !paused)) this.late_starts += 1;
    await this.#runProcess((process) => {
      const deps = this.deps(process);
      return runClock({ ...deps, emails: through(process, this.tables.emails) });
    });
  }

  /** Messages, processes and events are on their way. */
  get isBusy(): boolean {
    return this.queue.busy + this.#events.busy > 0;
  }

  heal(): void {
    this.healed = true;
    this.provider.moods = [];
  }

  /** As the API reads it. */
  async view() {
    const email = await this.tables.emails.read(EMAIL);
    return { email, batches: await this.tables.batches.list(EMAIL) };
  }

  /** Whether an event tells of the mail, within minutes. */
  hasEvent(receipt: Receipt): boolean {
    return !this.#events.lost.has(receipt);
  }

  /** What an operator does about uncertain recipients. */
  resend(): Promise<unknown> {
    return this.operate(async (deps) => this.#count(await resolveEmail(EMAIL, 'resend', deps)));
  }

  #count({ resolved, waiting }: Pick<Resolved, 'resolved' | 'waiting'>): void {
    this.resent += resolved;
    this.waiting += waiting;
  }

  get email_id(): string {
    return EMAIL;
  }

  deps(process: Process) {
    const unsubscribed = this.unsubscribed;
    return {
      emails: through(process, this.tables.emails),
      batches: through(process, this.tables.batches),
      chunks: through(process, this.chunks.store),
      events: through(process, this.tables.events),
      queues: through(
        process,
        {
          prepare: async (message: PrepareMessage) => this.queue.send(() => this.#prepare(message)),
          send: async (message: SendMessage) => this.queue.send(() => this.#send(message)),
        },
        true,
      ),
      schedules: through(
        process,
        {
          create: async (email_id: string, at: string) =>
            this.queue.send(async () => {
              await this.time.pause(Math.max(0, Date.parse(at) - this.clock().getTime()));
              await this.#prepare({ version: 1, kind: 'start', email_id });
            }),
          remove: async () => {},
        },
        true,
      ),
      provider: { send: (call: Parameters<Provider['send']>[0]) => process.call(() => this.provider.send(call)) },
      pacing: through(process, {
        reserve: async (count: number) => this.#reserve(count),
        refused: async () => {},
      }),
      exclusions: through(process, {
        check: async (_: unknown, recipients: readonly { readonly member_email: string }[]) =>
          recipients.map(({ member_email }): ExclusionReason | undefined =>
            unsubscribed.has(member_email) ? 'unsubscribed' : undefined,
          ),
      }),
      renderings: { of: async () => ({ subject: 'Hello', html: '<p>', text: '' }) },
      unsubscribeUrl: async () => 'https://example.com/u',
      candidates: {
        pages: (_: Email, after?: string) => candidatePages(this.members, process, after),
        count: async () => this.members.length,
      },
      parts: {
        of: async () => [{ segment: 'status:paid', matches: ({ status }: MemberProfile) => status === 'paid' }],
      },
      warming: { reserve: async () => undefined, use: async () => {} },
      clock: this.clock,
      pause: process.pause,
      repeat: process.repeat,
      newId: () => `id-${++this.#ids}`,
      remaining_ms: process.remaining_ms,
      limits: this.limits,
      log: {
        info: (text: string) => void this.log.push(text),
        warn: (text: string) => void this.log.push(text),
        error: (text: string) => void this.log.push(text),
        count: (what: JobEvent) => void this.counted.push(what),
      },
    };
  }

  /** Grants what is asked for, a part of it, or nothing for a while. */
  #reserve(count: number): { granted: number; retry_at?: string } {
    const draw = this.healed ? 0 : this.random();
    if (draw < 0.8) return { granted: count };
    if (draw < 0.95) return { granted: Math.ceil(count / 2) };
    const wait = Math.floor(this.random() * 120_000);
    return { granted: 0, retry_at: new Date(this.clock().getTime() + wait).toISOString() };
  }

  async #prepare(message: PrepareMessage): Promise<void> {
    await this.#runProcess(async (process) => {
      const deps = this.deps(process);
      if (message.kind === 'count') await countEmail(message.email_id, deps);
      else await startEmail(message.email_id, deps);
    }, true);
  }

  async #send(message: SendMessage): Promise<void> {
    await this.#runProcess(async (process) => {
      const deps = this.deps(process);
      if (message.kind === 'resolve') {
        this.continued_decisions += 1;
        const more = await continueResolve(message, deps);
        if (more !== undefined && message.action === 'resend') this.#count(more);
      } else if (message.kind === 'record') {
        this.late_records += 1;
        await recordLate(message, deps);
      } else await sendBatch(message, deps);
    }, true);
  }

  #newProcess(limit_ms = this.#faults.limit_ms): Process {
    const { death_every, outages, failing, stalling } = this.#faults;
    const dies = !this.healed && death_every > 0 && ++this.#processes % death_every === 0;
    const weather = {
      random: this.random,
      storageIsDown: () => {
        const second = (this.clock().getTime() - this.#begun) / 1000;
        return !this.healed && outages.some(([from, to]) => from <= second && second < to);
      },
      failing: () => (this.healed ? 0 : failing),
      stalling: () => (this.healed ? 0 : stalling),
    };
    return new Process(this.time, weather, limit_ms, dies ? Math.floor(this.random() ** 2 * 60) : undefined);
  }

  async #runProcess(run: (process: Process) => Promise<unknown>, rethrow = false): Promise<void> {
    const process = this.#newProcess();
    this.#alive.add(process);
    try {
      await run(process);
    } catch (error) {
      if (error instanceof Died) this.deaths += 1;
      else if (!comesAgain(error)) this.log.push(`unexpected: ${error instanceof Error ? error.stack : error}`);
      if (rethrow) throw error;
    } finally {
      this.#alive.delete(process);
    }
  }
}

/** Errors after which the message comes again: of storage, and of a decision that storage made too slow. */
function comesAgain(error: unknown): boolean {
  if (error instanceof Problem) return error.problem === 'unavailable';
  const name = error instanceof Error ? error.name : '';
  return name === 'ThrottlingException' || name === 'StorageUnavailableError';
}
