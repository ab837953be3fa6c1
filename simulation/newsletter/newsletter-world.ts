import { MemoryPacing } from '../../src/adapters/memory/memory-pipeline-state.ts';
import type { NewsletterEvent } from '../../src/core/newsletter/events/newsletter-event.ts';
import type { PrepareMessage, SendMessage } from '../../src/core/newsletter/model/email-message.ts';
import { NewsletterAuditor, STATES, type State } from '../audit/newsletter-auditor.ts';
import { createRandom, type Draw } from '../engine/random.ts';
import { START } from '../engine/start.ts';
import { VirtualTime } from '../engine/virtual-time.ts';
import { BulkProvider } from '../models/bulk-provider.ts';
import type { Machine } from '../models/event-source.ts';
import { SimulatedQueue } from '../models/queue.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import type { NewsletterScenario } from '../scenarios/newsletter-scenario.ts';
import { GivenMembers } from './given-members.ts';
import { NewsletterTables } from './stores.ts';

export const EMAIL_ID = 'email-1';

/** As lib/constructs/newsletter/ sets them. */
const JOB_QUEUE = { visibility_ms: 960_000, max_receives: 5 };
const EVENT_QUEUE = { visibility_ms: 365_000, max_receives: 8 };
/** Every so manyth message is read by the auditor. */
const READ_EVERY = 101;

/** How the recipients were, at one moment. */
export interface NewsletterSample {
  /** Seconds since the start. */
  readonly at: number;
  readonly counts: Readonly<Record<State, number>>;
}

/** All parts of the simulation of one newsletter. */
export class NewsletterWorld {
  readonly time = new VirtualTime(START);
  readonly scenario: NewsletterScenario;
  readonly seed: number;
  readonly draw: Draw;
  readonly members: GivenMembers;
  readonly auditor: NewsletterAuditor;
  readonly provider: BulkProvider;
  readonly tables: NewsletterTables;
  readonly budgets = new MemoryPacing();
  readonly prepares = new SimulatedQueue<PrepareMessage>(this.time, { ...JOB_QUEUE, groupOf: oneGroup });
  readonly sends = new SimulatedQueue<SendMessage>(this.time, { ...JOB_QUEUE, groupOf: oneGroup });
  readonly events = new SimulatedQueue<NewsletterEvent>(this.time, { ...EVENT_QUEUE, groupOf: oneGroup });
  readonly counts: Record<string, number> = {};
  readonly samples: NewsletterSample[] = [];
  /** Recipients whose mail was accepted, by second since the start. */
  readonly bySecond: number[] = [];
  #ids = 0;
  #messages = 0;

  constructor(scenario: NewsletterScenario, seed: number) {
    this.scenario = scenario;
    this.seed = seed;
    this.draw = createRandom(seed, 'newsletter');
    this.members = new GivenMembers(scenario.notifications);
    this.auditor = new NewsletterAuditor(scenario.notifications);
    this.provider = new BulkProvider(scenario.provider, createRandom(seed, 'bulk provider'));
    this.tables = new NewsletterTables(this.time);
  }

  /** What the functions of one queue run on. */
  machine(name: string): Machine {
    return {
      time: this.time,
      draw: createRandom(this.seed, `function ${name}`),
      onDeath: (worker: WorkerProcess, death) => {
        this.count(`workers ${death}`);
        this.auditor.ended(worker);
      },
      paused: () => false,
    };
  }

  send<M>(queue: SimulatedQueue<M>, message: M, delay_seconds = 0): void {
    if (this.#messages++ % READ_EVERY === 0) this.auditor.queued(JSON.stringify(message));
    queue.send(message, delay_seconds);
  }

  accepted(count: number): void {
    const second = Math.floor((this.time.now - START.getTime()) / 1000);
    this.bySecond[second] = (this.bySecond[second] ?? 0) + count;
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

  /** Messages in all queues. */
  get queued(): number {
    return [this.prepares, this.sends, this.events].reduce(
      (sum, { visible, delayed, inFlight }) => sum + visible + delayed + inFlight,
      0,
    );
  }

  readonly newId = () => `id-${++this.#ids}`;

  count(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

function oneGroup(): string {
  return '';
}
