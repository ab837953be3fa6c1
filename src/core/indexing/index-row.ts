import type { Channel } from '../model/channels.ts';
import type { IndexShards } from '../model/index-shards.ts';
import {
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  type ForeignRow,
  hasContent,
  type NotificationContent,
} from '../model/notification.ts';
import { ExplainedError } from '../model/problem.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { setAside } from '../model/row-state.ts';
import { maskedWords } from '../model/text.ts';
import type { Clock } from '../model/time.ts';
import { isGivenUp } from '../model/work-index.ts';
import { type IndexPlan, type IndexTerms, planIndex } from './index-plan.ts';
import { contentFaults, rowFaults } from './row-rules.ts';

/** A row as a change record of the table shows it. */
export interface RowImage {
  readonly row: ForeignRow;
  /** The change's sequence number, decimal: of two images of a row, the later one has the greater number. */
  readonly sequence: string;
  /** It is no image of the stream, and the sequence that of what is stored: its content may be another one. */
  readonly unseen?: true;
}

/** NotificationLog and NotificationContent, as the indexer needs them. */
export interface IndexStore {
  /** False unless content, status, counters and index keys are as in the image. @throws RowUnstorableError */
  index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean>;
  /**
   * Stores the content, with its recipient encrypted, unless the content of a later image is stored.
   * @returns undefined when another image with the same content has taken the row in: a life would begin twice
   * @throws RowUnstorableError, ErasedError
   */
  putContent(owner: ContentOwner, content: Partial<NotificationContent>): Promise<StoredContent | undefined>;
  hasContent(log_id: string): Promise<boolean>;
}

export interface StoredContent {
  /** The recipient's keyed hash; absent if the content has none. */
  readonly recipient_hash?: string;
  /** Of the life that has this content: number of its first attempt. Absent: no older content was there. */
  readonly life?: number;
  /** Another recipient was stored: what was said about them is masked in the records, and leaves the row. */
  readonly of_another?: boolean;
}

/** What is stored of a life: its first attempt is number `life`, and its writer had made so many when it was taken in. */
export interface StoredLife {
  readonly life?: number;
  /** One unless given: the send that failed. */
  readonly attempts_before?: number;
}

/**
 * A number is used once per log_id: a life behind another begins after its last recorded attempt, and after one that a
 * worker may have made, and died before it recorded it.
 */
export function nextLife({ life = 0, attempts_before = 1 }: StoredLife, last_recorded = -1): number {
  return Math.max(last_recorded, life + attempts_before - 1) + 2;
}

export interface ContentOwner {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly expires_at: number;
  /** The sequence number of the content's image. */
  readonly sequence: string;
  /** What the content lacks is kept from what is stored. Without it the content is complete, and replaces what is. */
  readonly amends?: true;
  /** `kept`: it is over, so none begins with it. `new`: also behind content of the same sequence. */
  readonly begins?: 'kept' | 'new';
  /** Attempts that its writer had made before it was taken in; one unless given. */
  readonly attempts_before?: number;
}

/** The storage will never accept this, for instance an item beyond its size limit. The message names the rule. */
export class RowUnstorableError extends ExplainedError {
  override readonly name = 'RowUnstorableError';
}

/** The content of this log_id was erased (`ops forget`): nothing is stored under it any more. */
export class ErasedError extends Error {
  override readonly name = 'ErasedError';
}

export interface IndexDeps {
  readonly store: IndexStore;
  readonly policy: RetryPolicy;
  /** The zone of times without one, such as `Asia/Tokyo`; UTC unless given. */
  readonly time_zone?: string;
  /** Over how many partitions new entries are spread; the numbers that every stage has unless given. */
  readonly shards?: IndexShards;
  /** Those of the stage; all unless given. */
  readonly channels?: readonly Channel[];
  readonly clock: Clock;
}

export interface IndexOutcome {
  /** `outdated`: the row has changed since, and its later image will follow. */
  readonly outcome: 'indexed' | 'set_aside' | 'ignored' | 'outdated';
  readonly why?: string;
}

/**
 * Takes one row into the index. It rejects only when storage fails temporarily, and may then be called again: every
 * other error is the row's, and sets the row aside.
 */
export async function indexRow(image: RowImage, deps: IndexDeps): Promise<IndexOutcome> {
  const now = deps.clock();
  try {
    const { row } = image;
    // A writer may have corrected a part of the content that is stored: the recipient, but not the body.
    const lacking = hasContent(row) && contentFaults(row).length > 0;
    const stored = (lacking && (await deps.store.hasContent(String(row['log_id'])))) || undefined;
    const terms = { ...deps, stored };
    const plan = await withContentChecked(planned(row, now, terms), row, now, deps.store);
    return await carryOut(plan, image, deps.store, (life) => planned(row, now, { ...terms, life }));
  } catch (error) {
    if (error instanceof ErasedError) return dropContent(image, now, deps.store);
    if (!(error instanceof RowUnstorableError)) throw error;
    return setUnstorableAside(error, image, now, deps.store);
  }
}

/** A late image of an erased row finds the row changed. What its writer has put there since goes, and the row says why. */
function dropContent(image: RowImage, now: Date, store: IndexStore): Promise<IndexOutcome> {
  const { row } = image;
  const fault = { column: 'log_id', rule: 'erased', expected: 'another log_id: an operator erased this notification' };
  const isOver = isGivenUp(row) || row['send_status'] === 'SUCCESS';
  const {
    set,
    why,
    remove: kept,
  } = isOver ? { set: {}, remove: ['work_queue', 'work_at'] } : setAside([fault], now, row);
  const remove = [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS, ...kept].filter((column) => row[column] !== undefined);
  return carryOut({ do: 'set_aside', set, remove, ...(why !== undefined && { why }) }, image, store);
}

/** The rules must see every fault. Where one is missing, the row is at fault all the same, and stops no other row. */
function planned(row: ForeignRow, now: Date, { policy, ...terms }: Pick<IndexDeps, 'policy'> & IndexTerms): IndexPlan {
  try {
    return planIndex(row, now, policy, terms);
  } catch (cause) {
    throw new RowUnstorableError('a value that cannot be read', { cause });
  }
}

/** What is to be done with the row, before its content and storage are asked. */
export function planRow(row: ForeignRow, now: Date, deps: IndexDeps): IndexPlan['do'] {
  try {
    return planned(row, now, deps).do;
  } catch (error) {
    if (!(error instanceof RowUnstorableError)) throw error;
    return 'set_aside';
  }
}

async function setUnstorableAside(
  { message }: RowUnstorableError,
  image: RowImage,
  now: Date,
  store: IndexStore,
): Promise<IndexOutcome> {
  const { row } = image;
  // It says so already: our own write of that brought it here again.
  if (isGivenUp(row)) return { outcome: 'ignored' };
  const faults = rowFaults(row);
  const unstorable = { column: 'message_body', rule: message, expected: 'a smaller row' };
  const aside = setAside(faults.length > 0 ? faults : [unstorable], now, row);
  const { why } = aside;
  const plan = { do: 'set_aside', ...aside } as const;
  try {
    return await carryOut(plan, image, store);
  } catch (error) {
    if (!(error instanceof RowUnstorableError)) throw error;
    // The row has no room even for the reason: it stays as it is, and only the log names the reason.
    return { outcome: 'ignored', why };
  }
}

/** @param anew the plan of a life that begins behind older content */
async function carryOut(
  plan: IndexPlan,
  image: RowImage,
  store: IndexStore,
  anew: (life: number) => IndexPlan = () => plan,
): Promise<IndexOutcome> {
  if (plan.do === 'ignore') return { outcome: 'ignored' };
  const { row } = image;
  const stored = plan.content ? await store.putContent(ownerOf(plan, image), plan.content) : {};
  if (stored === undefined) return { outcome: 'outdated' };
  const { life, of_another, ...found }: StoredContent = stored;
  const { set, remove } = life === undefined ? plan : ofLife(plan, anew, life);
  const masked = Object.entries(of_another ? maskedWords(row) : {}).filter(([name]) => !remove.includes(name));
  if (!(await store.index(row, { ...Object.fromEntries(masked), ...set, ...found }, remove)))
    return { outcome: 'outdated' };
  if (plan.do === 'set_aside') return { outcome: 'set_aside', why: plan.why ?? '' };
  return { outcome: plan.do === 'wait' ? 'ignored' : 'indexed' };
}

/** The plan in the life that begins with its content. */
function ofLife(plan: Taken, anew: (life: number) => IndexPlan, life: number): Taken {
  if (plan.do === 'history') return plan.begins ? { ...plan, set: { ...plan.set, next_life: life } } : plan;
  const again = plan.do === 'index' ? anew(life) : plan;
  return again.do === plan.do ? again : plan;
}

/**
 * A row without content is valid only if its content was moved before, as when a writer corrects a row set aside. What is
 * stored is its content then, in another life.
 */
async function withContentChecked(plan: IndexPlan, row: ForeignRow, now: Date, store: IndexStore): Promise<IndexPlan> {
  // A row that only moves to another partition was checked when it was taken in.
  const waits = plan.do === 'index' && plan.content === undefined && plan.set['work_at'] !== undefined;
  if (!waits) return plan;
  if (await store.hasContent(String(row['log_id']))) return { ...plan, content: {}, amends: true };
  return { do: 'set_aside', ...setAside(contentFaults(row), now, row) };
}

type Taken = Exclude<IndexPlan, { readonly do: 'ignore' }>;

function ownerOf(plan: Taken, { row, sequence, unseen }: RowImage): ContentOwner {
  const { set, amends } = plan;
  const begins = plan.do === 'history' && !plan.begins ? 'kept' : unseen && 'new';
  return {
    log_id: String(row['log_id']),
    tenant_id: String(row['tenant_id']),
    expires_at: Number(set['expires_at']),
    sequence,
    // Those of a row that was taken in before are ours, and recorded.
    attempts_before: typeof row['last_attempt'] === 'number' ? 0 : Number(set['send_attempts'] ?? 0),
    ...(amends && { amends }),
    ...(begins && { begins }),
  };
}
