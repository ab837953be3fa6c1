import { notLater, sequenceValue } from '../../../src/adapters/dynamodb/delivery/content-items.ts';
import { CHANGE_TRIES } from '../../../src/core/delivery/ports.ts';
import {
  type ContentOwner,
  ErasedError,
  type IndexStore,
  nextLife,
  RowUnstorableError,
} from '../../../src/core/indexing/index-row.ts';
import { defined } from '../../../src/core/model/collections.ts';
import {
  type ForeignRow,
  hasContent,
  type NotificationContent,
  type RetryRecord,
} from '../../../src/core/model/notification.ts';
import { asRead } from '../../../src/core/model/row-change.ts';
import { maskedWords } from '../../../src/core/model/text.ts';
import { holds, isAny } from './guards.ts';
import type { KeptContent } from './row-stores.ts';

type Given = Partial<NotificationContent>;

/** The calls by which DynamoDB stores a content: others' calls may come between them (dynamodb/indexing/index-store.ts). */
export interface ContentSteps {
  /** Stores it where nothing is. @returns what is there otherwise; `amends` only looks */
  putFirst(owner: ContentOwner, content: Given): Promise<{ readonly there?: KeptContent }>;
  /** Whether another image has taken the row in, and the newest attempt that is recorded. */
  readLife(log_id: string): Promise<{ readonly is_taken_in: boolean; readonly last_recorded?: number }>;
  /**
   * Stores it unless a later one, or the mark of an erasure, is there. What names another recipient than the one that was
   * there masks the records before. @returns false if it is erased; `since`: what is there, where that was to be amended
   * as it was read
   */
  putBehind(
    owner: ContentOwner,
    content: Given,
    there?: KeptContent,
    life?: number,
  ): Promise<boolean | { readonly since?: KeptContent }>;
}

/** Stores a content as the store on DynamoDB does, call by call. */
export function putInSteps({ putFirst, readLife, putBehind }: ContentSteps): IndexStore['putContent'] {
  return async (owner, content) => {
    const { log_id, tenant_id, sequence, amends, begins } = owner;
    const recipient_hash = content.recipient && `hash of ${tenant_id}/${content.recipient}`;
    const first = await putFirst(owner, content);
    if (first.there === undefined && !amends) return defined({ recipient_hash });
    let { there } = first;
    for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
      if (there?.erased_at !== undefined) throw new ErasedError(ERASED);
      const isSeenAgain = begins !== 'new' && (there?.sequence ?? '0') === sequence;
      const isKept = begins === 'kept' || isSeenAgain;
      if (isSeenAgain && there?.corrected_at !== undefined) return undefined;
      let life = there?.life;
      if (!isKept) {
        const { is_taken_in, last_recorded } = await readLife(log_id);
        if (is_taken_in && Object.keys(content).length > 0) return undefined;
        life = nextLife(there ?? {}, last_recorded);
      }
      if (amends && there?.tenant_id !== tenant_id) throw new RowUnstorableError('the content that it lacks');
      const stored = await putBehind(owner, content, there, life);
      if (stored === false) throw new ErasedError(ERASED);
      const of_another = isOfAnother(content, there) || undefined;
      if (stored === true) return defined({ recipient_hash, life, of_another });
      there = stored.since;
    }
    throw new Error(`Others kept changing the content of ${log_id}.`);
  };
}

const ERASED = 'The content of this log_id was erased.';

interface Tables {
  readonly log: ReadonlyMap<string, ForeignRow>;
  readonly content: Map<string, KeptContent>;
  readonly retryLog: Map<string, RetryRecord>;
}

export function memoryContentSteps({ log, content: contents, retryLog }: Tables): ContentSteps {
  const store = ({ log_id, tenant_id, sequence, attempts_before }: ContentOwner, content: Given, life?: number) =>
    contents.set(log_id, {
      ...(content as NotificationContent),
      tenant_id,
      sequence,
      ...defined({ life, attempts_before }),
    });
  const recordsOf = (log_id: string) => [...retryLog.values()].filter((record) => record.original_log_id === log_id);
  return {
    async putFirst(owner, content) {
      const there = contents.get(owner.log_id);
      if (there === undefined && !owner.amends) store(owner, content);
      return defined({ there });
    },

    async readLife(log_id) {
      const row = log.get(log_id);
      const attempts = recordsOf(log_id).map(({ retry_attempt }) => retry_attempt);
      const last_recorded = attempts.length === 0 ? undefined : Math.max(...attempts);
      return { is_taken_in: row !== undefined && !hasContent(row), ...defined({ last_recorded }) };
    },

    async putBehind(owner, content, there, life) {
      const { log_id, amends } = owner;
      const now = contents.get(log_id);
      const of_another = isOfAnother(content, there);
      if (of_another)
        for (const record of recordsOf(log_id))
          retryLog.set(record.retry_log_id, { ...record, ...maskedWords(record) });
      const masked = (given: Given) => ({ ...given, ...(of_another && maskedWords(given)) });
      const { sequence, life: kept, erased_at } = now ?? {};
      if (erased_at !== undefined) return false;
      if (amends && !holds(asRead({ ...there }, AMENDED), { ...now })) return defined({ since: now });
      const stored = defined({ image_sequence: sequence && sequenceValue(sequence), life: kept });
      if (isAny(notLater(owner.sequence, life), stored))
        store(owner, amends ? { ...masked(withoutMark(there)), ...content } : masked(content), life);
      return true;
    },
  };
}

const AMENDED = ['sequence', 'life', 'corrected_at', 'erased_at', 'fallback'] as const;

function isOfAnother({ recipient }: Given, there?: KeptContent): boolean {
  return recipient !== undefined && there !== undefined && there.recipient !== recipient;
}

/** What an operator has corrected before, its writer has put anew. */
function withoutMark({ corrected_at: _, ...content }: Partial<KeptContent> = {}): Given {
  return content;
}
