import { randomUUID } from 'node:crypto';
import type { Item } from './item.ts';
import {
  type HandoverOutcome,
  isAway,
  isForTheBatch,
  outcomeOfAnswer,
  retryAfterMs,
  unanswered,
} from './retry-rules.ts';

export interface ApiOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Milliseconds until an answer must be there. */
  readonly timeoutMs: number;
  readonly clock: () => Date;
}

interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly repeat: boolean;
  readonly wait?: number;
}

/**
 * Asks the API once for each of the items, and says for each what came of it.
 * @param split given, a batch that fails as a whole on the API's side or times out is asked for again in halves
 */
export type Ask = (
  items: readonly Item[],
  signal: AbortSignal | undefined,
  split?: Split,
) => Promise<HandoverOutcome[]>;

/** Requests in succession that failed while batches were halved, from 0. */
export interface Split {
  failed: number;
}

/**
 * So many, and it is the API that fails, not an item: down to one of a hundred there are eight requests, and one or two
 * more when its neighbour fails as well.
 */
const MOST_FAILED = 10;

/** Most that the API takes at once. */
export const BATCH_LIMIT = 100;

export function createApi({ url, apiKey, timeoutMs, clock }: ApiOptions): Ask {
  const base = url.replace(/\/+$/, '');

  /** @returns the answer, or why there is none */
  async function post(path: string, body: object, key: string, signal?: AbortSignal): Promise<Answer | string> {
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        // A redirect is not an acceptance, and the key is for this address only.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, late]) : late,
      });
      const text = await response.text();
      const wait = retryAfterMs(response.headers.get('retry-after') ?? undefined, clock());
      return {
        status: response.status,
        json: parsed(text),
        repeat: response.headers.get('idempotent-replayed') === 'true',
        ...(wait !== undefined && { wait }),
      };
    } catch (error) {
      return signal?.aborted ? 'interrupted' : codeOf(error);
    }
  }

  async function one(item: Item, signal?: AbortSignal): Promise<HandoverOutcome> {
    const path =
      item.kind === 'failure' ? `/v1/notifications/${encodeURIComponent(item.log_id)}/failures` : '/v1/notifications';
    const answer = await post(path, item.body, item.idempotency_key, signal);
    if (typeof answer === 'string') return unanswered(answer);
    const log_id = item.kind === 'failure' ? item.log_id : textAt(answer.json, 'log_id');
    if (answer.status === 202 && log_id !== undefined) return { state: 'accepted', log_id, repeat: answer.repeat };
    return outcomeOfAnswer(answer.status, answer.json, answer.wait);
  }

  /** @returns a verdict for each, or one for the request as a whole */
  async function together(items: readonly Item[], signal?: AbortSignal): Promise<HandoverOutcome[] | HandoverOutcome> {
    const notifications = items.map(({ body, idempotency_key }) => ({ ...body, idempotency_key }));
    // The items' keys make it idempotent. The request's own is new each time: a stored answer would repeat a 503, too.
    const answer = await post('/v1/notifications/batch', { notifications }, randomUUID(), signal);
    if (typeof answer === 'string') return unanswered(answer);
    if (answer.status === 200) return resultsOf(answer, items.length);
    return outcomeOfAnswer(answer.status, answer.json, answer.wait);
  }

  async function batch(items: readonly Item[], signal?: AbortSignal, split?: Split): Promise<HandoverOutcome[]> {
    const [first] = items;
    if (first === undefined) return [];
    const verdict = items.length === 1 ? await one(first, signal) : await together(items, signal);
    if (Array.isArray(verdict)) {
      if (split) split.failed = 0;
      return verdict;
    }
    const failed = isForTheBatch(verdict);
    if (split) split.failed = failed || isAway(verdict) ? split.failed + 1 : 0;
    if (items.length === 1) return [verdict];
    // Refused as a whole, for one item or for its size, or failed for one of them: the halves show for which.
    const goesOn = () => verdict.state === 'refused' || (failed && split !== undefined && split.failed < MOST_FAILED);
    const middle = Math.ceil(items.length / 2);
    const verdicts: HandoverOutcome[] = [];
    for (const half of [items.slice(0, middle), items.slice(middle)]) {
      verdicts.push(...(goesOn() ? await batch(half, signal, split) : half.map(() => verdict)));
    }
    return verdicts;
  }

  return async (items, signal, split) => {
    const verdicts = new Map<Item, HandoverOutcome>();
    const notifications = items.filter(({ kind }) => kind === 'notification');
    for (const group of groups(notifications)) {
      // What is alone has nothing to be split from, and says nothing of batches.
      const answered = await batch(group, signal, group.length > 1 ? split : undefined);
      for (const [i, item] of group.entries()) if (answered[i]) verdicts.set(item, answered[i]);
    }
    for (const item of items) if (item.kind === 'failure') verdicts.set(item, await one(item, signal));
    return items.map((item) => verdicts.get(item) ?? unanswered('not asked'));
  };
}

/** A Lambda function takes 6 MB; the rest is for what JSON and the headers add. */
const BATCH_BYTES = 4_000_000;

function groups(items: readonly Item[]): Item[][] {
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

function resultsOf({ json, wait }: Answer, count: number): HandoverOutcome[] {
  const results = objectOf(json)['results'];
  const verdicts = new Map<unknown, HandoverOutcome>();
  for (const result of Array.isArray(results) ? results.map(objectOf) : []) {
    const { index, status, problem } = result;
    const log_id = textAt(result, 'log_id');
    verdicts.set(
      index,
      status === 202 && log_id !== undefined
        ? { state: 'accepted', log_id, repeat: result['repeat'] === true }
        : outcomeOfAnswer(typeof status === 'number' ? status : 200, problem, wait),
    );
  }
  return Array.from({ length: count }, (_, index) => verdicts.get(index) ?? outcomeOfAnswer(200, undefined));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function objectOf(json: unknown): Record<string, unknown> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
}

function textAt(json: unknown, name: string): string | undefined {
  const value = objectOf(json)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `fetch` hides the reason in the cause; its messages name addresses, so only the code is taken. */
function codeOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; errors?: readonly { code?: string }[] } };
  return name === 'TimeoutError' ? 'timeout' : (cause?.code ?? cause?.errors?.[0]?.code ?? name ?? 'unknown');
}
