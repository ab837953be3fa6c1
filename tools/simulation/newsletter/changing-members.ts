import { createCandidateReader } from '../../../src/adapters/nql/candidate-reader.ts';
import { runClock } from '../../../src/core/newsletter/lifecycle/advance.ts';
import { publishEmail } from '../../../src/core/newsletter/lifecycle/publish.ts';
import { startEmail } from '../../../src/core/newsletter/lifecycle/start.ts';
import { deleteMember } from '../../../src/core/newsletter/members/left-addresses.ts';
import { type GivenMember, upsertMembers } from '../../../src/core/newsletter/members/upsert-members.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import type { PrepareMessage, SendMessage } from '../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import type { AudienceQuery, MemberStore, Sealing } from '../../../src/core/newsletter/model/ports.ts';
import type { BulkAnswer, BulkCall } from '../../../src/core/newsletter/model/provider.ts';
import { createLateExclusions } from '../../../src/core/newsletter/sending/exclusion-checks.ts';
import { sendBatch } from '../../../src/core/newsletter/sending/send-batch.ts';
import { createWarming } from '../../../src/core/newsletter/warming/domain-warming.ts';
import { createRandom, VirtualTime } from '../engine/virtual-time.ts';
import { WorkerProcess } from '../models/worker-process.ts';
import { NO_FAULTS } from '../scenarios/newsletter-scenario.ts';
import { createMemoryMembers } from '../twins/members.ts';
import { createMemoryWarming, MemoryChunks, MemoryEmails } from '../twins/newsletter-items.ts';
import { through } from './stores.ts';

export const OWN_DOMAIN = 'own.example.com';
const LIMIT_MS = 900_000;
/** Mails of a day, instead of hundreds. */
export const CURVE = [4, 5, 7, 10, 14] as const;
const allowance = (step: number) => CURVE[Math.min(step, CURVE.length - 1)] ?? 0;

/** What an auditor is told: what the receivers got, and when the facts of addresses were read for it. */
export interface MembersAudit {
  checked(email_id: string, addresses: readonly string[], now: number): void;
  accepted(email_id: string, tenant_id: string, address: string, from: string, now: number): void;
}

/**
 * Mailings of two tenants on one domain that is warmed, and their members, who come and go. Days pass. The use cases run
 * on the twins; each call of storage takes time, and may fail before or after its effect.
 */
export class ChangingMembers {
  readonly time = new VirtualTime(new Date('2026-03-01T20:00:00.000Z'));
  readonly tables = new MemoryEmails(this.time.clock);
  readonly chunks = new MemoryChunks();
  readonly members = createMemoryMembers(this.time.clock);
  readonly warming = createMemoryWarming();
  /** Mailings that the provider refuses for their sender. */
  readonly refused = new Set<string>();
  readonly faults: string[] = [];
  failing: number;
  readonly #sealing: Sealing;
  readonly #draw;
  readonly #audit: MembersAudit;
  #ids = 0;
  #running = 0;

  constructor(seed: number, failing: number, sealing: Sealing, audit: MembersAudit) {
    this.#draw = createRandom(seed, 'changing members');
    this.failing = failing;
    this.#sealing = sealing;
    this.#audit = audit;
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  async publish(email_id: string, tenant_id: string, segment?: string): Promise<void> {
    const at = this.time.clock().toISOString();
    const names = { tenant_id, newsletter_id: 'news', name: 'News', from: 'News <news@example.com>' };
    const domains = { sending_domain: OWN_DOMAIN, fallback_domain: 'other.example.com' };
    const newsletter = { ...names, ...domains, created_at: at, updated_at: at };
    const content = { subject: 'News', body: 'Hello', format: 'text', newsletter } as const;
    const ids = { email_id, request_hash: email_id, tenant_id };
    await this.surely(() => publishEmail({ ...ids, content, ...(segment && { segment }) }, this.deps(tenant_id)));
  }

  give(tenant_id: string, ...given: readonly GivenMember[]): Promise<unknown> {
    return this.surely(() => upsertMembers(tenant_id, given, this.deps(tenant_id)));
  }

  remove(tenant_id: string, member_id: string, reason: 'deleted' | 'erased'): Promise<unknown> {
    return this.surely(() => deleteMember(tenant_id, member_id, reason, this.deps(tenant_id)));
  }

  async unsubscribe(tenant_id: string, address: string, newsletter_id: string): Promise<void> {
    const hash = await this.#sealing.emailHash(tenant_id, address);
    await this.surely(() => this.members.unsubscribe(tenant_id, hash, newsletter_id, this.time.clock().toISOString()));
  }

  /** An operator, or a producer, repeats what storage failed. */
  async surely<T>(run: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await run();
      } catch (error) {
        if ((error as Error).name !== 'ThrottlingException' || tries > 100) throw error;
        await this.time.pause(100);
      }
    }
  }

  /** The clock's function, each minute of the time; hours in which nothing is due pass at once. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; ) {
      const step = Math.min(left, left > 3_600_000 && !this.isBusy ? 600_000 : 60_000);
      await this.time.pause(step);
      left -= step;
      this.#run(() => runClock(this.deps('')));
    }
  }

  deps(tenant_id: string) {
    const { time, tables, members } = this;
    const around = { time, draw: this.#draw, faults: { ...NO_FAULTS, failing: this.failing } };
    const worker = new WorkerProcess(time, () => {});
    const called = <T extends object>(port: T): T => through(around, worker, port);
    const ends = time.now + LIMIT_MS;
    const store = called({
      ...members,
      addresses: undefined,
      audience: undefined,
      addressees: undefined,
    } as never) as Omit<MemberStore, 'addresses' | 'audience' | 'addressees'>;
    const exclusions = createLateExclusions(store, this.#sealing);
    return {
      emails: called(tables.emails),
      batches: called(tables.batches),
      chunks: called(this.chunks.store),
      events: called(tables.events),
      newsletters: { senders: async () => [], sendersAt: async () => [] },
      members: store,
      sealing: this.#sealing,
      candidates: createCandidateReader({ ...store, ...this.#pages(called) }, this.#sealing),
      warming: createWarming(called(this.warming), time.clock, allowance),
      exclusions: {
        check: (...args: Parameters<typeof exclusions.check>) => {
          const { email_id } = args[0] as Email;
          this.#audit.checked(
            email_id,
            args[1].map(({ member_email }) => member_email),
            time.now,
          );
          return exclusions.check(...args);
        },
      },
      provider: { send: (call: BulkCall) => this.#send(call) },
      pacing: { reserve: async (count: number) => ({ granted: count }), refused: async () => {} },
      queues: {
        prepare: async (message: PrepareMessage) => {
          if (message.kind === 'start') this.#run(() => startEmail(message.email_id, this.deps(tenant_id)));
        },
        send: async (message: SendMessage) => {
          if (message.kind === 'batch') this.#run(() => sendBatch(message, this.deps(tenant_id)));
        },
      },
      schedules: { create: async () => {}, remove: async () => {} },
      parts: { of: async () => [] },
      renderings: { of: async () => ({ subject: ['News'], html: ['<p>'], text: [] }) },
      linkOf: async () => ({ unsubscribe_url: 'https://example.com/u', email_hash: 'hash' }),
      clock: time.clock,
      pause: time.pause,
      repeat: () => () => {},
      newId: () => `id-${++this.#ids}`,
      remaining_ms: () => ends - time.now,
      // Small, so that a few members make several batches and calls.
      limits: { ...DEFAULT_JOB_LIMITS, batch_size: 3, chunk_size: 2, cut_recipients: 4, sender_lease_ms: LIMIT_MS },
      log: { info: () => {}, warn: () => {}, error: () => {} },
    };
  }

  /** One address a page. */
  #pages(called: <T extends object>(port: T) => T) {
    const { members } = this;
    const { next } = called({
      next: async (query: AudienceQuery, after: string | undefined) =>
        ((await members.addressees(query, after)[Symbol.asyncIterator]().next()).value ?? [])[0],
    });
    async function* addressees(query: AudienceQuery, after?: string) {
      for (let entry = await next(query, after); entry !== undefined; entry = await next(query, entry.email_hash)) {
        yield [entry];
      }
    }
    return { addressees, audience: addressees };
  }

  /** What a function does; what it does not end, the clock has done again. */
  #run(job: () => Promise<unknown>): void {
    this.#running += 1;
    const end = (error?: unknown) => {
      this.#running -= 1;
      const { name = '', message = '' } = (error ?? {}) as Error;
      if (error !== undefined && !['ThrottlingException', 'StorageUnavailableError', 'LeaseLostError'].includes(name))
        this.faults.push(`${name}: ${message}`);
    };
    this.time.at(this.time.now + 5 + this.#draw() * 500, () => void job().then(() => end(), end));
  }

  async #send(call: BulkCall): Promise<BulkAnswer> {
    const [{ tags } = { tags: { email_id: '', chunk: '', n: '' } }] = call.entries;
    const tenant_id = (await this.tables.emails.read(tags.email_id))?.tenant_id ?? '';
    await this.time.pause(20 + this.#draw() * 1_500);
    const { now } = this.time;
    if (this.refused.has(tags.email_id)) {
      return { kind: 'refused', refusal: { class: 'settings', reason: 'sender_not_allowed' } };
    }
    for (const { to } of call.entries) this.#audit.accepted(tags.email_id, tenant_id, to, call.from, now);
    return {
      kind: 'answered',
      entries: call.entries.map(({ to }) => ({ accepted: true, message_id: `${to} ${now}` })),
    };
  }
}
