import { shownState } from '../../../src/core/newsletter/accounting/counts.ts';
import { EXCLUDED_BATCH } from '../../../src/core/newsletter/model/batch.ts';
import type { PrepareMessage, SendMessage } from '../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS, type JobLimits } from '../../../src/core/newsletter/model/job-limits.ts';
import { type EmailSeen, NewsletterAuditor, STATES, type State } from '../audit/newsletter-auditor.ts';
import { createRandom, type Draw } from '../engine/virtual-time.ts';
import { BulkProvider } from '../models/bulk-provider.ts';
import type { Machine } from '../models/event-source.ts';
import { SimulatedQueue } from '../models/queue.ts';
import { Simulation } from '../models/simulation.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { type Faults, type NewsletterScenario, NO_FAULTS } from '../scenarios/newsletter-scenario.ts';
import { MemoryPacing } from '../twins/pipeline-state.ts';
import { GivenMembers, memberOf, usualMember } from './members.ts';
import { NewsletterTables, STALL_MS, type Surroundings } from './stores.ts';

export const EMAIL_ID = 'email-1';

/** As lib/constructs/newsletter/ sets them: an invocation, and what is longer by the visibility of its message. */
const LIMIT_MS = 900_000;
const BEYOND_LIMIT_MS = 60_000;
const EVENT_QUEUE = { visibility_ms: 365_000, max_receives: 8 };
const PAGE = 100;
/** A second copy of a message comes at most this much later, and as many messages can be shown again. */
const COPY_MS = 600_000;
const MOST_OLD = 50;

/** How the recipients were, at one moment. */
export interface NewsletterSample {
  /** Seconds since the start. */
  readonly at: number;
  readonly counts: Readonly<Record<State, number>>;
}

/** All parts of the simulation of one newsletter. */
export class NewsletterWorld extends Simulation implements Surroundings {
  readonly scenario: NewsletterScenario;
  readonly draw: Draw;
  limits: JobLimits;
  readonly limit_ms: number;
  readonly members: GivenMembers;
  readonly auditor: NewsletterAuditor;
  readonly provider: BulkProvider;
  readonly tables: NewsletterTables;
  readonly budgets = new MemoryPacing();
  readonly prepares: SimulatedQueue<PrepareMessage>;
  readonly sends: SimulatedQueue<SendMessage>;
  readonly events = new SimulatedQueue<object>(this.time, { ...EVENT_QUEUE, groupOf: oneGroup });
  readonly samples: NewsletterSample[] = [];
  /** Processes that run a use case just now. */
  readonly running = new Set<WorkerProcess>();
  /** The tenant's own; none: those of the stage. */
  senders: readonly string[] = [];
  /** Nothing breaks any more. */
  healed = false;
  #calmFrom = 0;
  readonly #old: (() => void)[] = [];
  #ids = 0;
  /** Messages, copies and events that come later. */
  #onTheirWay = 0;

  constructor(scenario: NewsletterScenario, seed: number) {
    const { notifications, given = usualMember, page = PAGE, provider, limit_ms = LIMIT_MS } = scenario;
    super(seed);
    this.scenario = scenario;
    this.draw = createRandom(seed, 'newsletter');
    this.limits = { ...DEFAULT_JOB_LIMITS, ...scenario.limits };
    this.limit_ms = limit_ms;
    this.members = new GivenMembers(notifications, given, page);
    // Each of the batches at once finds out for itself, and what a death leaves unrecorded is found out again.
    const { concurrency, refused_recipients, chunk_size } = this.limits;
    const everybody = concurrency * refused_recipients + chunk_size;
    this.auditor = new NewsletterAuditor(notifications, concurrency, everybody);
    this.provider = new BulkProvider(provider, createRandom(seed, 'bulk provider'));
    this.tables = new NewsletterTables(this.time);
    const jobs = { visibility_ms: limit_ms + BEYOND_LIMIT_MS, max_receives: 5, groupOf: oneGroup };
    this.prepares = new SimulatedQueue(this.time, jobs);
    this.sends = new SimulatedQueue(this.time, jobs);
  }

  get faults(): Faults {
    return this.healed ? NO_FAULTS : this.scenario.faults;
  }

  heal(): void {
    this.healed = true;
    // A call that stood still when everything healed still does.
    this.#calmFrom = this.time.now + (this.scenario.faults.stalling > 0 ? STALL_MS : 0);
    this.provider.moods = [];
    this.senders = [];
    this.provider.per_day = this.scenario.provider.per_day;
  }

  /** What the functions of one queue run on. */
  machine(name: string): Machine {
    return this.machineOf(`function ${name}`, (worker) => {
      this.running.delete(worker);
      this.auditor.ended(worker);
    });
  }

  /** Everything that runs ends at once, as with its machine; what is on its way then still arrives. */
  killAll(most = Number.POSITIVE_INFINITY): void {
    for (const worker of [...this.running].slice(0, most)) worker.die('killed');
  }

  /** Sends a message of the job, which may get lost or come twice. */
  sendJob<M>(queue: SimulatedQueue<M>, message: NoInfer<M>, delay_seconds = 0): void {
    const { lost_messages, duplicated_messages } = this.faults;
    if (this.#old.length < MOST_OLD) this.#old.push(() => this.send(queue, message));
    if (lost_messages > 0 && this.draw() < lost_messages) return;
    this.send(queue, message, delay_seconds);
    if (duplicated_messages > 0 && this.draw() < duplicated_messages) {
      this.later(this.draw() * COPY_MS, () => this.send(queue, message));
    }
  }

  /** An old message is delivered once more. */
  showAgain(): void {
    this.#old[Math.floor(this.draw() * this.#old.length)]?.();
  }

  later(ms: number, run: () => void): void {
    this.#onTheirWay += 1;
    this.time.at(this.time.now + ms, () => {
      this.#onTheirWay -= 1;
      run();
    });
  }

  unsubscribe(member: number): void {
    for (const one of this.members.unsubscribe(member)) this.auditor.unsubscribed(one, this.time.now);
  }

  /** The email and what its batches add up to, as the rows say. */
  async view() {
    const email = await this.tables.emails.read(EMAIL_ID);
    const batches = await this.tables.batches.list(EMAIL_ID);
    const counts = Object.fromEntries(
      STATES.map((state) => [state, batches.reduce((sum, batch) => sum + batch.counts[state], 0)]),
    ) as Record<State, number>;
    return { email, batches, counts };
  }

  /** The auditor reads the rows. */
  async audit() {
    const view = await this.view();
    if (view.email?.hold !== undefined) this.count(`holds for ${view.email.hold.for}`);
    if (view.email?.hold?.late) this.count('holds by events');
    if (view.email !== undefined) this.auditor.read(this.#seen(view), view.counts, this.time.now);
    return view;
  }

  /** The auditor reads everything at the end. */
  async auditEnd(): Promise<void> {
    const view = await this.view();
    // Before they are frozen they are only a part of a preparation, which may have been cancelled.
    const frozen = view.email?.prepared === undefined ? [] : await this.recipients();
    for (const { member, state, reason, owner } of frozen) this.auditor.finish(member, owner, state, reason);
    const batches = view.batches.filter(({ batch_id }) => batch_id !== EXCLUDED_BATCH).length;
    this.auditor.end(this.#seen(view), view.counts, batches, this.members.isEmpty);
  }

  /** Every recipient, as a list of the API shows it. */
  async recipients() {
    const { batches } = await this.view();
    const found: { member: number; owner: number; state: State; reason?: string }[] = [];
    for (const { email_id, batch_id, chunks } of batches) {
      for (let chunk = 0; chunk < chunks; chunk++) {
        const key = { email_id, batch_id, chunk };
        const stored = await this.tables.chunks.readChunk(key);
        const state = await this.tables.chunks.readState(key);
        stored?.recipients.forEach(({ member_id, member_email }, n) => {
          const reason = state?.reasons[n];
          found.push({
            member: Number(member_id.slice(1)),
            owner: memberOf(member_email),
            state: shownState(state?.states[n] ?? ''),
            ...(reason !== undefined && { reason }),
          });
        });
      }
    }
    return found;
  }

  #seen({ email }: Awaited<ReturnType<NewsletterWorld['view']>>): EmailSeen {
    return {
      status: email?.status ?? 'missing',
      cancelled_at: email?.cancelled_at,
      paused: email?.paused ?? false,
      slots: Object.keys(email?.slots ?? {}).length,
      prepared: email?.prepared,
      holds: this.time.now >= this.#calmFrom && (email?.hold !== undefined || email?.silence?.until !== undefined),
      active: email?.active !== undefined && email.next_at !== undefined,
      due: this.healed && (email?.scheduled_at ?? '') <= this.time.clock().toISOString(),
    };
  }

  allQueues() {
    return [this.prepares, this.sends, this.events];
  }

  /** And what comes later. */
  override get queued(): number {
    return this.#onTheirWay + super.queued;
  }

  readonly newId = () => `id-${++this.#ids}`;
}

const oneGroup = (): string => '';
