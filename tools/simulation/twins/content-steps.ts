import { notLater, sequenceValue } from '../../../src/adapters/dynamodb/delivery/content-store.ts';
import { isAny } from '../../../src/adapters/dynamodb/table/guards.ts';
import {
  type ContentOwner,
  ErasedError,
  type IndexStore,
  nextLife,
  RowUnstorableError,
} from '../../../src/core/indexing/index-row.ts';
import { defined } from '../../../src/core/model/defined.ts';
import {
  type ForeignRow,
  hasContent,
  type NotificationContent,
  type RetryRecord,
} from '../../../src/core/model/notification.ts';
import type { KeptContent } from './row-stores.ts';

type Given = Partial<NotificationContent>;

/** The calls by which DynamoDB stores a content: others' calls may come between them (dynamodb/indexing/index-store.ts). */
export interface ContentSteps {
  /** Stores it where nothing is. @returns what is there otherwise; `amends` only looks */
  putFirst(owner: ContentOwner, content: Given): Promise<{ readonly there?: KeptContent }>;
  /** Whether another image has taken the row in, and the newest attempt that is recorded. */
  readLife(log_id: string): Promise<{ readonly is_taken_in: boolean; readonly last_recorded?: number }>;
  /** Stores it unless a later one, or the mark of an erasure, is there. @returns false if it is erased */
  putBehind(owner: ContentOwner, content: Given, there?: KeptContent, life?: number): Promise<boolean>;
}

/** Stores a content as the store on DynamoDB does, call by call. */
export function putInSteps({ putFirst, readLife, putBehind }: ContentSteps): IndexStore['putContent'] {
  return async (owner, content) => {
    const { log_id, tenant_id, sequence, amends, begins } = owner;
    const recipient_hash = content.recipient && `hash of ${tenant_id}/${content.recipient}`;
    const { there } = await putFirst(owner, content);
    if (there === undefined && !amends) return defined({ recipient_hash });
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
    if (!(await putBehind(owner, content, there, life))) throw new ErasedError(ERASED);
    return defined({ recipient_hash, life });
  };
}

const ERASED = 'The content of this log_id was erased.';

interface Tables {
  readonly log: ReadonlyMap<string, ForeignRow>;
  readonly content: Map<string, KeptContent>;
  readonly retryLog: ReadonlyMap<string, RetryRecord>;
}

export function memoryContentSteps({ log, content: contents, retryLog }: Tables): ContentSteps {
  const store = ({ log_id, tenant_id, sequence, attempts_before }: ContentOwner, content: Given, life?: number) =>
    contents.set(log_id, {
      ...(content as NotificationContent),
      tenant_id,
      sequence,
      ...defined({ life, attempts_before }),
    });
  return {
    async putFirst(owner, content) {
      const there = contents.get(owner.log_id);
      if (there === undefined && !owner.amends) store(owner, content);
      return defined({ there });
    },

    async readLife(log_id) {
      const row = log.get(log_id);
      const its = [...retryLog.values()].filter(({ original_log_id }) => original_log_id === log_id);
      const attempts = its.map(({ retry_attempt }) => retry_attempt);
      const last_recorded = attempts.length === 0 ? undefined : Math.max(...attempts);
      return { is_taken_in: row !== undefined && !hasContent(row), ...defined({ last_recorded }) };
    },

    async putBehind(owner, content, there, life) {
      const { sequence, life: kept, erased_at } = contents.get(owner.log_id) ?? {};
      const stored = defined({ image_sequence: sequence && sequenceValue(sequence), life: kept, erased_at });
      if (isAny(notLater(owner.sequence, life), stored))
        store(owner, owner.amends ? { ...withoutMark(there), ...content } : content, life);
      return erased_at === undefined;
    },
  };
}

/** What an operator has corrected before, its writer has put anew. */
function withoutMark({ corrected_at: _, ...content }: Partial<KeptContent> = {}): Given {
  return content;
}
