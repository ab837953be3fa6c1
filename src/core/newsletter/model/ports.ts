import type { Batch, Chunk, ChunkKey, ChunkState } from './batch.ts';
import type { BatchEvents, ToldEvents } from './batch-events.ts';
import type { Email, EmailContent, Newsletter } from './email.ts';
import type { PrepareMessage, SendMessage } from './email-message.ts';
import type {
  Addressee,
  AddressFacts,
  Gone,
  MemberIdentity,
  SegmentSubject,
  StoredMember,
  Suppression,
} from './member.ts';

/** What the job reports for people (batch-sending-service-job.md, ログ出力). Ids and numbers only, no address. */
export interface JobLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What an operator has to look at (エラーログ). */
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Counts what operators are alarmed of. */
  count?(what: JobEvent): void;
}

/** `stalled`: a sender or a preparation crashed, or nobody took its work for long. */
export type JobEvent = 'failed' | 'count_off' | 'stalled';

export type SenderAction = 'allow' | 'revoke';

/**
 * Storage of newsletters. Every `change` is made only if the item still has the version it was read with; it sets the
 * next version, and answers with the changed item, or with undefined when someone else was faster. A write that was
 * applied and is repeated, because its answer was lost, is answered like the first time.
 */
export interface NewsletterStore {
  /**
   * Creates or replaces; `created_at` of an existing newsletter stays.
   * @param known_at `updated_at` of the one that is replaced, null for none; undefined replaces any
   * @returns what is stored; undefined where that was changed since to something else
   */
  put(newsletter: Newsletter, known_at?: string | null): Promise<Newsletter | undefined>;
  read(tenant_id: string, newsletter_id: string): Promise<Newsletter | undefined>;
  /** In the order of their ids; all, or so many after an id. */
  list(
    tenant_id: string,
    page?: { readonly after?: string | undefined; readonly limit?: number },
  ): Promise<readonly Newsletter[]>;
  /** The stage lets a tenant without senders of its own write as nobody. */
  readonly own_senders_only?: boolean;
  /** As whom the tenant may write: addresses, and `*@domain`. Empty: as whomever the stage lets it, but for others' senders. */
  senders(tenant_id: string): Promise<readonly string[]>;
  /** The senders at a domain, in ASCII, that any tenants have. */
  sendersAt(domain: string): Promise<readonly string[]>;
  /** One that was cut off is repeated: until then neither the tenant nor another one writes as the sender. @returns what is left */
  changeSenders(tenant_id: string, action: SenderAction, sender: string): Promise<readonly string[]>;
}

/** All that is stored of one address of a tenant: its members in the order of their ids, and its facts. */
export interface AddressEntry<M = StoredMember> {
  readonly email_hash: string;
  readonly members: readonly M[];
  readonly facts?: AddressFacts;
  /** By member_id: of who is here the last moves; of who moved away the one that left from here. */
  readonly moves?: ReadonlyMap<string, readonly Move[]>;
  /** By member_id: when who is not here any more was deleted or moved away, in milliseconds. As `came_at`. */
  readonly left?: ReadonlyMap<string, number>;
}

/** A member left an address, at a time in milliseconds. */
export interface Move {
  readonly from: string;
  readonly at: number;
}

/** What was found of some member ids, deleted ones included. */
interface FoundMembers {
  readonly members: readonly StoredMember[];
  /** By member_id: where the member is. An id that is absent never had a member. */
  readonly places: ReadonlyMap<string, MemberPlace>;
}

/** Each change of the address, each deletion and each return counts `version` up: an old place is noticed. */
export interface MemberPlace {
  readonly email_hash: string;
  readonly member_uuid: string;
  readonly created_at: string;
  readonly version: number;
  /** The member was deleted. */
  readonly gone?: boolean;
  /** Hashes of addresses that the member left, as long as their facts may still have to follow (`settleMove`). */
  readonly moved_from?: readonly string[];
  /** The last moves, the newest last. */
  readonly moves?: readonly Move[];
}

/** All members of a tenant, with what the mailings of one newsletter ask for. */
export interface AudienceQuery {
  readonly tenant_id: string;
  /** Of the facts only those that concern it; all where segments can ask for newsletters. */
  readonly newsletter_id: string;
  /** What is read of what segments can ask for, beside member_id and newsletters; the others are empty. */
  readonly fields: ReadonlySet<keyof SegmentSubject>;
}

export interface MemberStore {
  /**
   * Creates or replaces up to 100 members with different ids and keeps uuid and created_at of those that exist.
   * @param found what `find` said of these ids a moment ago; without it the store looks for them itself
   */
  upsert(members: readonly StoredMember[], found?: FoundMembers): Promise<void>;
  read(tenant_id: string, member_id: string): Promise<StoredMember | undefined>;
  /** Up to 100 members by id, in no order; an unknown id is left out. */
  find(tenant_id: string, member_ids: readonly string[]): Promise<FoundMembers>;
  /** Forgets where a member came from, unless it has moved again since the place was read. */
  settleMove(tenant_id: string, member_id: string, place: MemberPlace): Promise<void>;
  /** False when there is no such member. The facts of its address stay. */
  remove(tenant_id: string, member_id: string): Promise<boolean>;
  /**
   * Everything of a tenant in the order of email_hash, page by page, after the given hash. Bounded memory. An address of
   * which nothing is left may come, too, so that a long reading of such addresses can be seen to go on; one that a
   * member has left in the last weeks always comes.
   */
  addresses(tenant_id: string, after?: string): AsyncIterable<readonly AddressEntry[]>;
  /** What a count needs of the members, in the order and with the bounds of `addresses`. */
  audience(query: AudienceQuery): AsyncIterable<readonly AddressEntry<SegmentSubject>[]>;
  /** What a mailing needs of them, in the same way. */
  addressees(query: AudienceQuery, after?: string): AsyncIterable<readonly AddressEntry<Addressee>[]>;
  /** What is stored of one address; undefined when nothing is. */
  address(tenant_id: string, email_hash: string): Promise<AddressEntry | undefined>;
  /** Facts of up to 100 addresses, strongly consistent; an address without facts is left out. */
  facts(tenant_id: string, email_hashes: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>>;
  /** Suppresses an address. An earlier one stays, but for a bounce, which any other reason replaces. */
  suppress(tenant_id: string, email_hash: string, why: Suppression): Promise<void>;
  /** Adds to the facts of an address; an earlier time stays. */
  unsubscribe(tenant_id: string, email_hash: string, newsletter_id: string, at: string): Promise<void>;
  resubscribe(tenant_id: string, email_hash: string, newsletter_id: string): Promise<void>;
  unsuppress(tenant_id: string, email_hash: string): Promise<void>;
  /** Nobody of the address gets these newsletters any more; a later mark replaces an earlier one. */
  markGone(tenant_id: string, email_hash: string, newsletter_ids: readonly string[], gone: Gone): Promise<void>;
  /** Lifts the mark of this time; another one stays. */
  liftGone(tenant_id: string, email_hash: string, newsletter_id: string, at: string): Promise<void>;
}

/** Encrypts what identifies people, and hashes addresses. */
export interface Sealing {
  sealMember(tenant_id: string, member_id: string, identity: MemberIdentity): Promise<string>;
  /** @throws UnreadableMemberError when no repetition helps */
  openMember(member: Pick<StoredMember, 'tenant_id' | 'member_id' | 'sealed_identity'>): Promise<MemberIdentity>;
  /** The same for all ways to write an address: case and surrounding space do not count. */
  emailHash(tenant_id: string, email: string): Promise<string>;
  /** The address in the form that the provider takes: domain in lower case and ASCII. Undefined for no such address. */
  mailbox(email: string): string | undefined;
}

export interface EmailStore {
  /** Stores row and content, both or none. Returns the stored row if the email_id exists already. */
  create(email: Email, content: EmailContent): Promise<Email>;
  read(email_id: string): Promise<Email | undefined>;
  content(email_id: string): Promise<EmailContent | undefined>;
  change(email: Email, change: Change<Email>): Promise<Email | undefined>;
  /** Changes the row and replaces the content, both or none. */
  replace(email: Email, change: Change<Email>, content: EmailContent): Promise<Email | undefined>;
  /** Newest first. */
  list(
    tenant_id: string,
    cursor?: string,
  ): Promise<{ readonly emails: readonly Email[]; readonly next_cursor?: string }>;
  /** Emails for which something has to be done by `now`, the longest waiting first. */
  due(now: string, limit: number): Promise<readonly Email[]>;
}

export interface BatchStore {
  /** The commit mark of a prepared batch. Nothing is sent before all are there, so it may overwrite. */
  put(batch: Batch): Promise<void>;
  read(email_id: string, batch_id: string): Promise<Batch | undefined>;
  /** All batches of an email by number, the excluded one last. */
  list(email_id: string): Promise<readonly Batch[]>;
  /** Up to `limit` batches by number, from the given one on, without the excluded one. */
  from(email_id: string, batch_id: string, limit: number): Promise<readonly Batch[]>;
  change(batch: Batch, change: Change<Batch>): Promise<Batch | undefined>;
  /** Removes batches that an interrupted preparation left beyond the last one. */
  remove(email_id: string, batch_ids: readonly string[]): Promise<void>;
}

/** A chunk is decrypted by itself, so that one that cannot be decrypted holds up no other. */
export interface SealedChunk {
  readonly chunk: number;
  /** @throws UnreadableChunkError when no repetition helps */
  open(): Promise<Chunk>;
}

export interface ChunkStore {
  /** Puts chunks with their first states; the preparation may repeat it. */
  put(chunks: readonly { readonly chunk: Chunk; readonly state: ChunkState }[]): Promise<void>;
  readChunk(key: ChunkKey): Promise<Chunk | undefined>;
  /** The chunks of a batch from one number to another, both included, in order. */
  readChunks(email_id: string, batch_id: string, from: number, to: number): Promise<readonly SealedChunk[]>;
  readState(key: ChunkKey): Promise<ChunkState | undefined>;
  /** The states of a batch's chunks in order; chunks beyond the batch's number are leftovers of an older preparation. */
  states(email_id: string, batch_id: string): Promise<readonly ChunkState[]>;
  change(state: ChunkState, next: Omit<ChunkState, keyof ChunkKey | 'version'>): Promise<ChunkState | undefined>;
}

export interface EventStore {
  /** Strongly consistent; version 0 without an item. */
  read(email_id: string, batch_id: string): Promise<BatchEvents>;
  change(events: BatchEvents, told: ToldEvents): Promise<BatchEvents | undefined>;
  list(email_id: string): Promise<readonly BatchEvents[]>;
}

export interface NewsletterQueues {
  /** @param delay_seconds 0…900 */
  prepare(message: PrepareMessage, delay_seconds?: number): Promise<void>;
  send(message: SendMessage, delay_seconds?: number): Promise<void>;
}

/** EventBridge Scheduler: one-time schedules. A schedule that got lost is found by the active index. */
export interface Schedules {
  /** Starts the email at the time; the same email and time may be asked for again. */
  create(email_id: string, at: string): Promise<void>;
  /** Does nothing when there is no schedule. */
  remove(email_id: string): Promise<void>;
}

export interface Change<T> {
  readonly set: Partial<Omit<T, 'version'>>;
  readonly remove?: readonly (keyof T)[];
}

/** The addresses that a member has left when it moves on to another one, and whose facts may still have to follow. */
export function leftAddresses({ email_hash, moved_from = [] }: MemberPlace, to: string): readonly string[] {
  return [...new Set([...moved_from, email_hash])].filter((from) => from !== to);
}

const MOST_MOVES = 10;

/** The moves of a member with the one that leaves its address. */
export function movesWith({ email_hash, moves = [] }: MemberPlace, at: number): readonly Move[] {
  return [...moves, { from: email_hash, at }].slice(-MOST_MOVES);
}
