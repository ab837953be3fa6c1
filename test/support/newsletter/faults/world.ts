import { MemoryChunks } from '../../../../src/adapters/memory/newsletter/memory-chunks.ts';
import { MemoryEmails } from '../../../../src/adapters/memory/newsletter/memory-emails.ts';
import { changeState } from '../../../../src/core/newsletter/accounting/change-state.ts';
import { acceptUncertain } from '../../../../src/core/newsletter/accounting/chunk-changes.ts';
import { refreshBatch } from '../../../../src/core/newsletter/accounting/refresh-batch.ts';
import { runClock } from '../../../../src/core/newsletter/lifecycle/clock.ts';
import { countEmail } from '../../../../src/core/newsletter/lifecycle/count.ts';
import { publishEmail } from '../../../../src/core/newsletter/lifecycle/publish.ts';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import { hasBit, withBits } from '../../../../src/core/newsletter/model/delivery-bits.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import type { PrepareMessage, SendMessage } from '../../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { MemberProfile } from '../../../../src/core/newsletter/model/member.ts';
import type { ExclusionReason } from '../../../../src/core/newsletter/model/recipient-state.ts';
import type { CandidatePage } from '../../../../src/core/newsletter/preparation/ports.ts';
import { recordLate } from '../../../../src/core/newsletter/sending/record-late.ts';
import { sendBatch } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { VirtualTime } from '../../virtual-time.ts';
import { Died, Process, through } from './process.ts';
import { Provider, type Receipt } from './provider.ts';

const EMAIL = 'email-1';
const TENANT = 'tenant-1';
const VISIBILITY_MS = 180_000;
const MAX_RECEIVES = 5;
const MINUTE = 60_000;
/** Small, so that a few members make several batches and chunks. */
const LIMITS = { ...DEFAULT_JOB_LIMITS, batch_size: 6, chunk_size: 3, cut_recipients: 8 };

export interface GivenMember {
  readonly address: string;
  readonly excluded?: ExclusionReason;
  readonly paid: boolean;
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
  readonly members: readonly GivenMember[];
  readonly unsubscribed = new Map<string, number>();
  readonly log: string[] = [];
  /** Messages on their way and processes at work. */
  busy = 0;
  deaths = 0;
  late_records = 0;
  healed = false;
  readonly #faults: Faults;
  readonly #begun = this.clock().getTime();
  readonly #old: (() => void)[] = [];
  readonly #alive = new Set<Process>();
  #processes = 0;
  #ids = 0;
  #seed: number;

  constructor(members: readonly GivenMember[], faults: Faults) {
    this.members = members;
    this.#faults = faults;
    this.#seed = faults.seed;
    this.provider = new Provider(this.time, this.random);
    this.provider.onAccepted = (receipt) => this.#emitAccepted(receipt);
  }

  /** Repeatable draws (a linear congruential generator). */
  readonly random = (): number => {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#seed / 2 ** 32;
  };

  publish(window_minutes: number | undefined): Promise<void> {
    return this.#runProcess((process) =>
      publishEmail(
        {
          email_id: EMAIL,
          request_hash: 'hash',
          tenant_id: TENANT,
          content: {
            subject: 'Hello',
            body: 'Dear {name, "reader"}',
            format: 'text',
            newsletter: {
              tenant_id: TENANT,
              newsletter_id: 'news',
              name: 'News',
              from: 'news@example.com',
              created_at: '',
              updated_at: '',
            },
          },
          ...(window_minutes !== undefined && { delivery_window_minutes: window_minutes }),
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

  /** An old message is delivered once more. */
  showAgain(): void {
    this.#old[Math.floor(this.random() * this.#old.length)]?.();
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
    await this.#runProcess((process) => {
      const deps = this.deps(process);
      return runClock({ ...deps, emails: through(process, this.tables.emails) });
    });
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
          prepare: async (message: PrepareMessage) => this.#queue(() => this.#prepare(message)),
          send: async (message: SendMessage) => this.#queue(() => this.#send(message)),
        },
        true,
      ),
      schedules: through(process, { create: async () => {}, remove: async () => {} }),
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
        pages: (_: Email, after?: string) => this.#pages(process, after),
        count: async () => this.members.length,
      },
      parts: {
        of: async () => [{ segment: 'status:paid', matches: ({ status }: MemberProfile) => status === 'paid' }],
      },
      warming: { reserve: async () => undefined, use: async () => {} },
      clock: this.clock,
      pause: process.pause,
      newId: () => `id-${++this.#ids}`,
      remaining_ms: process.remaining_ms,
      limits: LIMITS,
      log: { info: (text: string) => void this.log.push(text), warn: (text: string) => void this.log.push(text) },
    };
  }

  async *#pages(process: Process, after?: string): AsyncGenerator<CandidatePage> {
    for (let i = after === undefined ? 0 : Number(after) + 1; i < this.members.length; i += 2) {
      const page = this.members.slice(i, i + 2);
      const candidates = page.map(({ address, excluded, paid }) => ({
        member: memberOf(address, paid),
        identity: { email: address },
        ...(excluded && { excluded }),
      }));
      yield await process.call(async () => ({ position: String(i + page.length - 1), candidates }));
    }
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
      if (message.kind === 'record') {
        this.late_records += 1;
        await recordLate(message, deps);
      } else await sendBatch(message, deps);
    }, true);
  }

  /** A message reaches a function; one that fails comes again after its visibility time-out. */
  #queue(run: () => Promise<void>): void {
    const { lost_messages, duplicated_messages } = this.#faults;
    const deliver = async (delay_ms: number): Promise<void> => {
      this.busy += 1;
      await this.time.pause(delay_ms);
      for (let receive = 1; receive <= MAX_RECEIVES; receive++) {
        const failed = await run().then(
          () => false,
          () => true,
        );
        if (!failed) break;
        await this.time.pause(VISIBILITY_MS);
      }
      this.busy -= 1;
    };
    if (this.#old.length < 50) this.#old.push(() => void deliver(0));
    if (!this.healed && this.random() < lost_messages) return;
    void deliver(this.random() * 2_000);
    if (!this.healed && this.random() < duplicated_messages) void deliver(this.random() * 10 * MINUTE);
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
      else if (!isStorage(error)) this.log.push(`unexpected: ${error instanceof Error ? error.stack : error}`);
      if (rethrow) throw error;
    } finally {
      this.#alive.delete(process);
    }
  }

  /** SES's event finds its recipient: the bit first, then the state (docs/decisions/0100). */
  #emitAccepted({ tags }: Receipt): void {
    if (this.random() < this.#faults.lost_events) return;
    this.busy += 1;
    const run = async () => {
      await this.time.pause(this.random() * 5 * MINUTE);
      const [batch_id = '', chunk = ''] = tags.chunk.split('-');
      const n = Number(tags.n);
      const place = Number(chunk) * LIMITS.chunk_size + n;
      for (;;) {
        const events = await this.tables.events.read(EMAIL, batch_id);
        if (hasBit(events.bits.accepted, place)) break;
        const bits = { ...events.bits, accepted: withBits(events.bits.accepted, [place]) };
        if ((await this.tables.events.change(events, bits)) !== undefined) break;
      }
      const state = await this.chunks.store.readState({ email_id: EMAIL, batch_id, chunk: Number(chunk) });
      if (state !== undefined) {
        await changeState(state, (found) => acceptUncertain(found, (at) => at === n), { chunks: this.chunks.store });
        await refreshBatch(EMAIL, batch_id, { batches: this.tables.batches, chunks: this.chunks.store });
      }
      this.busy -= 1;
    };
    void run();
  }
}

function isStorage(error: unknown): boolean {
  const name = error instanceof Error ? error.name : '';
  return name === 'ThrottlingException' || name === 'StorageUnavailableError';
}

function memberOf(address: string, paid: boolean): MemberProfile {
  return {
    tenant_id: TENANT,
    member_id: address,
    member_uuid: address,
    status: paid ? 'paid' : 'free',
    labels: [],
    newsletters: ['news'],
    created_at: '',
    updated_at: '',
  };
}
