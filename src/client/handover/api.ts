import { randomUUID } from 'node:crypto';
import { type ApiOptions, createRequest } from './api-request.ts';
import type { Item } from './item.ts';
import { type Answer, type HandoverOutcome, isApiDown, noAnswer, outcomeOfAnswer, pathSegment } from './retry-rules.ts';

/**
 * Sends each item to the API once.
 * @param split if given, a batch that a smaller one may succeed for is sent again in halves
 * @returns an outcome per item, in their order
 */
export type PostItems = (
  items: readonly Item[],
  signal: AbortSignal | undefined,
  split?: Split,
) => Promise<HandoverOutcome[]>;

interface Split {
  readonly state: SplitState;
  /** Whether a failure that another attempt may end is split, too. */
  readonly isLastAttempt: boolean;
}

/** Counts the requests in succession that failed while batches were halved, from 0. */
export interface SplitState {
  failures: number;
}

/**
 * After this many failures in succession the API fails, not an item. To isolate one of a hundred items takes eight
 * requests, and one or two more if the item beside it fails as well.
 */
const MAX_SPLIT_FAILURES = 10;

/** The most notifications that the API takes in one request. */
export const BATCH_LIMIT = 100;

export function createApi(options: ApiOptions): PostItems {
  const request = createRequest(options);

  async function postOne(item: Item, signal?: AbortSignal): Promise<HandoverOutcome> {
    const path =
      item.kind === 'failure' ? `/v1/notifications/${pathSegment(item.log_id)}/failures` : '/v1/notifications';
    const answer = await request(path, item.body, item.idempotency_key, signal);
    if (typeof answer === 'string') return noAnswer(answer);
    const log_id = item.kind === 'failure' ? item.log_id : textAt(answer.json, 'log_id');
    if (answer.status === 202 && log_id !== undefined) return { state: 'accepted', log_id, repeat: answer.repeat };
    return outcomeOfAnswer(answer.status, answer.json, answer.retryAfterMs);
  }

  /** @returns an outcome per item, or one for the whole request */
  async function postTogether(
    items: readonly Item[],
    signal?: AbortSignal,
  ): Promise<HandoverOutcome[] | HandoverOutcome> {
    const notifications = items.map(({ body, idempotency_key }) => ({ ...body, idempotency_key }));
    // The keys of the items make the request idempotent. Its own key is new each time, as a stored answer may be a 503.
    const answer = await request('/v1/notifications/batch', { notifications }, randomUUID(), signal);
    if (typeof answer === 'string') return noAnswer(answer);
    if (answer.status === 200) return resultsOf(answer, items.length);
    return outcomeOfAnswer(answer.status, answer.json, answer.retryAfterMs);
  }

  async function postBatch(items: readonly Item[], signal?: AbortSignal, split?: Split): Promise<HandoverOutcome[]> {
    const [first] = items;
    if (first === undefined) return [];
    const outcome = items.length === 1 ? await postOne(first, signal) : await postTogether(items, signal);
    if (Array.isArray(outcome)) {
      if (split) split.state.failures = 0;
      return outcome;
    }
    const splittable = outcome.state === 'postponed' && outcome.splittable;
    // Another attempt comes first where it may end the failure.
    const halving = split?.isLastAttempt || (splittable && !outcome.retryable) ? split?.state : undefined;
    if (halving) halving.failures = splittable || isApiDown(outcome) ? halving.failures + 1 : 0;
    if (items.length === 1) return [outcome];
    // The API refused the batch, for its size or for one item, or failed on one item. The halves show which item it is.
    const goesOn = () =>
      outcome.state === 'refused' || (splittable && halving !== undefined && halving.failures < MAX_SPLIT_FAILURES);
    const middle = Math.ceil(items.length / 2);
    const outcomes: HandoverOutcome[] = [];
    for (const half of [items.slice(0, middle), items.slice(middle)]) {
      outcomes.push(...(goesOn() ? await postBatch(half, signal, split) : half.map(() => outcome)));
    }
    return outcomes;
  }

  return async (items, signal, split) => {
    const outcomes = new Map<Item, HandoverOutcome>();
    const notifications = items.filter(({ kind }) => kind === 'notification');
    for (const group of groupBySize(notifications)) {
      // A single item cannot be split, and its failure says nothing about batches.
      const answered = await postBatch(group, signal, group.length > 1 ? split : undefined);
      for (const [i, item] of group.entries()) if (answered[i]) outcomes.set(item, answered[i]);
    }
    for (const item of items) if (item.kind === 'failure') outcomes.set(item, await postOne(item, signal));
    return items.map((item) => outcomes.get(item) ?? noAnswer('not asked'));
  };
}

/** Bytes per request. A Lambda function takes 6 MB; the difference is for what JSON and the headers add. */
const BATCH_BYTES = 4_000_000;

function groupBySize(items: readonly Item[]): Item[][] {
  const all: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item.body));
    const last = all.at(-1);
    if (last !== undefined && last.length < BATCH_LIMIT && bytes + size <= BATCH_BYTES) last.push(item);
    else all.push([item]);
    bytes = all.at(-1)?.length === 1 ? size : bytes + size;
  }
  return all;
}

function resultsOf({ json, retryAfterMs }: Answer, count: number): HandoverOutcome[] {
  const results = objectOf(json)['results'];
  const outcomes = new Map<unknown, HandoverOutcome>();
  for (const result of Array.isArray(results) ? results.map(objectOf) : []) {
    const { index, status, problem } = result;
    const log_id = textAt(result, 'log_id');
    outcomes.set(
      index,
      status === 202 && log_id !== undefined
        ? { state: 'accepted', log_id, repeat: result['repeat'] === true }
        : outcomeOfAnswer(typeof status === 'number' ? status : 200, problem, retryAfterMs, { isOfApi: true }),
    );
  }
  return Array.from({ length: count }, (_, index) => outcomes.get(index) ?? outcomeOfAnswer(200, undefined));
}

function objectOf(json: unknown): Record<string, unknown> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
}

function textAt(json: unknown, name: string): string | undefined {
  const value = objectOf(json)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
