import { expect } from 'vitest';
import type { ExclusionReason } from '../../../src/core/newsletter/model/batch.ts';
import type { Email, EmailContent } from '../../../src/core/newsletter/model/email.ts';
import type { PrepareMessage, SendMessage } from '../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS, type JobLimits } from '../../../src/core/newsletter/model/job-limits.ts';
import type { JobEvent } from '../../../src/core/newsletter/model/ports.ts';
import type { BulkAnswer, BulkCall } from '../../../src/core/newsletter/model/provider.ts';
import type { CandidatePage, PartSegment, PreparedCandidate } from '../../../src/core/newsletter/preparation/ports.ts';
import { MemoryChunks, MemoryEmails } from '../../../tools/simulation/twins/newsletter-items.ts';
import { emailContent, emailRow } from './job-rows.ts';

export function candidate(n: number, changes: Partial<PreparedCandidate> & { paid?: boolean; name?: string } = {}) {
  const { paid = false, name, ...rest } = changes;
  return {
    member: {
      tenant_id: 'tenant-1',
      member_id: `m-${n}`,
      member_uuid: `uuid-${n}`,
      status: paid ? 'paid' : 'free',
      labels: [],
      newsletters: ['news'],
      created_at: '',
    },
    identity: { email: `m${n}@example.com`, ...(name !== undefined && { name }) },
    ...rest,
  } as const satisfies PreparedCandidate;
}

/** The job on the in-memory twins, with one email, for tests that go step by step. */
export class JobWorld {
  now = new Date('2026-03-01T10:00:00.000Z');
  readonly clock = () => this.now;
  readonly tables = new MemoryEmails(this.clock);
  readonly chunks = new MemoryChunks();
  readonly prepares: PrepareMessage[] = [];
  readonly sends: SendMessage[] = [];
  readonly schedules: [string, string | undefined][] = [];
  readonly log: string[] = [];
  /** What was logged as an error, with its context. */
  readonly errors: [string, Readonly<Record<string, unknown>>][] = [];
  /** What operators are alarmed of. */
  readonly counted: JobEvent[] = [];
  readonly calls: BulkCall[] = [];
  readonly unsubscribed = new Map<string, ExclusionReason>();
  pages: readonly CandidatePage[] = [];
  parts: readonly PartSegment[] = [];
  /** The tenant's own; none: those of the stage. */
  senders: readonly string[] = [];
  remaining_ms = 900_000;
  allowed: number | undefined;
  answer: (call: BulkCall) => BulkAnswer = (call) => ({
    kind: 'answered',
    entries: call.entries.map((_, i) => ({ accepted: true, message_id: `id-${this.calls.length}-${i}` })),
  });
  reserve: (count: number) => { granted: number; retry_at?: string } = (count) => ({ granted: count });
  /** Called before each page of candidates. */
  onPage: (page: number) => void | Promise<void> = () => {};
  limits: JobLimits = { ...DEFAULT_JOB_LIMITS, batch_size: 4, chunk_size: 2 };
  #ids = 0;

  static async of(email: Partial<Email> = {}, content: Partial<EmailContent> = {}, limits: Partial<JobLimits> = {}) {
    const world = new JobWorld();
    world.limits = { ...world.limits, ...limits };
    await world.tables.emails.create(emailRow(email), emailContent(content));
    return world;
  }

  give(...pages: readonly (readonly PreparedCandidate[])[]): void {
    this.pages = pages.map((candidates, i) => ({ position: String(i), members: candidates.length, candidates }));
  }

  advance(ms: number): void {
    this.now = new Date(this.now.getTime() + ms);
  }

  async email(): Promise<Email> {
    const email = await this.tables.emails.read('email-1');
    if (email === undefined) throw new Error('The email does not exist.');
    return email;
  }

  batches() {
    return this.tables.batches.list('email-1');
  }

  /** The frozen recipients of a batch, by address. */
  async addresses(batch_id: string): Promise<readonly string[]> {
    const batch = await this.tables.batches.read('email-1', batch_id);
    const keys = Array.from({ length: batch?.chunks ?? 0 }, (_, chunk) => ({ email_id: 'email-1', batch_id, chunk }));
    const chunks = await Promise.all(keys.map((key) => this.chunks.store.readChunk(key)));
    return chunks.flatMap((chunk) => chunk?.recipients.map(({ member_email }) => member_email) ?? []);
  }

  async states(batch_id = '00000'): Promise<string> {
    const states = await this.chunks.store.states('email-1', batch_id);
    return states.map(({ states: codes }) => codes).join('');
  }

  /** What the use cases need. */
  deps() {
    return {
      emails: this.tables.emails,
      batches: this.tables.batches,
      events: this.tables.events,
      newsletters: { senders: async () => this.senders, sendersAt: async () => [] },
      chunks: this.chunks.store,
      queues: {
        prepare: async (message: PrepareMessage) => void this.prepares.push(message),
        send: async (message: SendMessage) => void this.sends.push(message),
      },
      schedules: {
        create: async (email_id: string, at: string) => void this.schedules.push([email_id, at]),
        remove: async (email_id: string) => void this.schedules.push([email_id, undefined]),
      },
      provider: {
        send: async (call: BulkCall) => {
          this.calls.push(call);
          return this.answer(call);
        },
      },
      pacing: { reserve: async (count: number) => this.reserve(count), refused: async () => {} },
      exclusions: {
        check: async (_: unknown, recipients: readonly { readonly member_email: string }[]) =>
          recipients.map(({ member_email }) => this.unsubscribed.get(member_email)),
      },
      renderings: { of: async () => ({ subject: ['Hello'], html: ['<p>'], text: [] }) },
      linkOf: async () => ({ unsubscribe_url: 'https://example.com/u', email_hash: 'hash' }),
      candidates: {
        pages: (_: Email, after?: string) => this.#pages(after),
        count: async () => this.pages.reduce((sum, { candidates }) => sum + candidates.length, 0),
      },
      parts: { of: async () => this.parts },
      warming: {
        left: async () => this.allowed,
        reserve: async (_: string, wanted: number) =>
          this.allowed === undefined ? undefined : Math.min(wanted, this.allowed),
        settle: async () => {},
      },
      clock: this.clock,
      pause: async (ms: number) => this.advance(ms),
      // Time jumps here: who holds a claim keeps it by what it writes.
      repeat: () => () => {},
      newId: () => `id-${++this.#ids}`,
      remaining_ms: () => this.remaining_ms,
      limits: this.limits,
      log: {
        info: (text: string) => void this.log.push(text),
        warn: (text: string) => void this.log.push(text),
        error: (text: string, fields: Readonly<Record<string, unknown>> = {}) => {
          // The deployed log drops a field with one of its own names.
          for (const name of ['level', 'message', 'service', 'timestamp']) expect(fields).not.toHaveProperty(name);
          this.log.push(text);
          this.errors.push([text, fields]);
        },
        count: (what: JobEvent) => void this.counted.push(what),
      },
    };
  }

  async *#pages(after?: string): AsyncGenerator<CandidatePage> {
    for (const page of this.pages) {
      if (after !== undefined && page.position <= after) continue;
      await this.onPage(Number(page.position));
      yield page;
    }
  }
}
