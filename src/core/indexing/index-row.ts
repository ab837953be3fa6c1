import type { Channel } from '../model/channels.ts';
import { setAside } from '../model/column-rules.ts';
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
import type { Clock } from '../model/time.ts';
import { isGivenUp } from '../model/work-index.ts';
import { type IndexPlan, planIndex } from './index-plan.ts';
import { contentFaults, rowFaults } from './row-rules.ts';

/** A row as a change record of the table shows it. */
export interface RowImage {
  readonly row: ForeignRow;
  /** The change's sequence number, decimal: of two images of a row, the later one has the greater number. */
  readonly sequence: string;
}

/** NotificationLog and NotificationContent, as the indexer needs them. */
export interface IndexStore {
  /** False unless content, status, counters and index keys are as in the image. @throws RowUnstorableError */
  index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean>;
  /**
   * Stores the content, with its recipient encrypted, unless the content of a later image is stored.
   * @returns the recipient's keyed hash; undefined if the content has none
   * @throws RowUnstorableError, ErasedError
   */
  putContent(owner: ContentOwner, content: Partial<NotificationContent>): Promise<string | undefined>;
  hasContent(log_id: string): Promise<boolean>;
}

export interface ContentOwner {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly expires_at: number;
  /** The sequence number of the content's image. */
  readonly sequence: string;
  /** What the content lacks is kept from what is stored. Without it the content is complete, and replaces what is. */
  readonly amends?: true;
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
    const plan = planned(row, now, deps, stored);
    return await carryOut(await withContentChecked(plan, row, now, deps.store), image, deps.store);
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
function planned(
  row: ForeignRow,
  now: Date,
  { policy, time_zone, shards, channels }: IndexDeps,
  stored?: true,
): IndexPlan {
  try {
    return planIndex(row, now, policy, { time_zone, shards, stored, channels });
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

async function carryOut(plan: IndexPlan, { row, sequence }: RowImage, store: IndexStore): Promise<IndexOutcome> {
  if (plan.do === 'ignore') return { outcome: 'ignored' };
  const found = plan.content && {
    recipient_hash: await store.putContent(ownerOf(row, plan, sequence), plan.content),
  };
  if (!(await store.index(row, { ...plan.set, ...found }, plan.remove))) return { outcome: 'outdated' };
  if (plan.do === 'set_aside') return { outcome: 'set_aside', why: plan.why ?? '' };
  return { outcome: plan.do === 'wait' ? 'ignored' : 'indexed' };
}

/** A row without content is valid only if its content was moved before, as when a writer corrects a row set aside. */
async function withContentChecked(plan: IndexPlan, row: ForeignRow, now: Date, store: IndexStore): Promise<IndexPlan> {
  // A row that only moves to another partition was checked when it was taken in.
  const waits = plan.do === 'index' && plan.content === undefined && plan.set['work_at'] !== undefined;
  if (!waits || (await store.hasContent(String(row['log_id'])))) return plan;
  return { do: 'set_aside', ...setAside(contentFaults(row), now, row) };
}

function ownerOf(
  { log_id, tenant_id }: ForeignRow,
  { set, amends }: Exclude<IndexPlan, { readonly do: 'ignore' }>,
  sequence: string,
): ContentOwner {
  const expires_at = Number(set['expires_at']);
  return { log_id: String(log_id), tenant_id: String(tenant_id), expires_at, sequence, ...(amends && { amends }) };
}
