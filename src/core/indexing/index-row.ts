import type { ForeignRow } from '../model/foreign-row.ts';
import type { NotificationContent } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { Clock } from '../model/time.ts';
import { type IndexPlan, planIndex, setAside } from './index-plan.ts';
import { contentFaults } from './row-rules.ts';

/** A row as a change of the table showed it. */
export interface RowImage {
  readonly row: ForeignRow;
  /** The change's place in the row's history, as a decimal number: of two images the later has the greater one. */
  readonly sequence: string;
}

/** NotificationLog and NotificationContent, as the indexer needs them. */
export interface IndexStore {
  /**
   * Applies the change if what the image says of content, status and counters still holds; false if it does not, or if
   * the row is indexed or given up already.
   * @throws RowUnstorableError
   */
  index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean>;
  /**
   * Stores the content, its recipient encrypted, unless a later image's is there; gives the recipient's keyed hash.
   * @throws RowUnstorableError
   */
  putContent(owner: ContentOwner, content: NotificationContent): Promise<string>;
  hasContent(log_id: string): Promise<boolean>;
}

export interface ContentOwner {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly expires_at: number;
  /** Of the image that the content comes from. */
  readonly sequence: string;
}

/** What the storage will never take, such as an item beyond its size limit; the message says which rule. */
export class RowUnstorableError extends Error {
  override readonly name = 'RowUnstorableError';
}

export interface IndexDeps {
  readonly store: IndexStore;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
}

export interface IndexOutcome {
  /** `outdated`: the row has changed since, and a later image of it is on its way. */
  readonly outcome: 'indexed' | 'set_aside' | 'ignored' | 'outdated';
  readonly why?: string;
}

/** Takes one row into the index; rejects only when storage fails for the moment, and may then be called again. */
export async function indexRow(image: RowImage, deps: IndexDeps): Promise<IndexOutcome> {
  const now = deps.clock();
  const plan = await withContentChecked(planIndex(image.row, now, deps.policy), image.row, now, deps.store);
  try {
    return await carryOut(plan, image, deps.store);
  } catch (error) {
    if (!(error instanceof RowUnstorableError)) throw error;
    return setUnstorableAside(error, image, now, deps.store);
  }
}

async function setUnstorableAside(
  { message }: RowUnstorableError,
  image: RowImage,
  now: Date,
  store: IndexStore,
): Promise<IndexOutcome> {
  const { set, why } = setAside([{ column: 'message_body', rule: message, expected: 'a smaller row' }], now);
  try {
    return await carryOut({ do: 'set_aside', set, why, remove: [] }, image, store);
  } catch (error) {
    if (!(error instanceof RowUnstorableError)) throw error;
    // Not even the reason fits: the row stays as it is, and only the log can tell.
    return { outcome: 'ignored', why };
  }
}

async function carryOut(plan: IndexPlan, { row, sequence }: RowImage, store: IndexStore): Promise<IndexOutcome> {
  if (plan.do === 'ignore') return { outcome: 'ignored' };
  const found = plan.content && {
    recipient_hash: await store.putContent(ownerOf(row, plan.set, sequence), plan.content),
  };
  if (!(await store.index(row, { ...plan.set, ...found }, plan.remove))) return { outcome: 'outdated' };
  return plan.do === 'set_aside' ? { outcome: 'set_aside', why: plan.why ?? '' } : { outcome: 'indexed' };
}

/** A row without content is good only if its content was moved before, as when a writer corrects one set aside. */
async function withContentChecked(plan: IndexPlan, row: ForeignRow, now: Date, store: IndexStore): Promise<IndexPlan> {
  const waits = plan.do === 'index' && plan.content === undefined;
  if (!waits || (await store.hasContent(String(row['log_id'])))) return plan;
  return { do: 'set_aside', ...setAside(contentFaults(row), now), remove: [] };
}

function ownerOf(row: ForeignRow, set: ForeignRow, sequence: string): ContentOwner {
  const { log_id, tenant_id } = row;
  return { log_id: String(log_id), tenant_id: String(tenant_id), expires_at: Number(set['expires_at']), sequence };
}
