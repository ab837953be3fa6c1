import { rmSync } from 'node:fs';
import type { Channel } from '../../core/model/channels.ts';
import { jsonLines } from '../support/running.ts';
import type { History } from './scripted-answer.ts';

export interface Received {
  readonly id: number;
  readonly channel: Channel;
  /** Present when the request names it; requests to Slack and Teams do not. */
  readonly log_id?: string;
  /** Number of the attempt of this notification at this address; the first is 1. */
  readonly attempt: number;
  /** How often this address has accepted this notification, this request included; above 1 is a duplicate. */
  readonly accepted_count: number;
  readonly accepted: boolean;
  readonly answer: string;
  readonly at: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Filter {
  readonly channel?: string | undefined;
  readonly log_id?: string | undefined;
  readonly accepted?: string | undefined;
}

/** Most requests that are kept for the list. The counts include the requests that are dropped from it. */
const KEPT = 20_000;
const CREDENTIAL_HEADERS = ['authorization', 'cookie'];

/** The requests that the simulated providers received. With a file they survive the runtime. */
export class ReceivedLog {
  readonly #file: string | undefined;
  readonly #append: (entry: Received & { readonly key: string }) => void;
  readonly #clock: () => number;
  #entries: Received[] = [];
  readonly #counts = new Map<string, { attempts: number; accepted: number; readonly firstAt: number }>();
  #lastId = 0;

  constructor(file?: string, clock: () => number = Date.now) {
    this.#file = file;
    this.#clock = clock;
    const { before, append } = jsonLines<Received & { readonly key: string }>(file);
    this.#append = append;
    for (const entry of before) this.#count(entry.key, entry);
  }

  /** @param key identifies a notification at an address */
  history(key: string): History {
    const counts = this.#counts.get(key);
    return { attempts: counts?.attempts ?? 0, sinceFirstMs: counts === undefined ? 0 : this.#clock() - counts.firstAt };
  }

  add(key: string, request: Omit<Received, 'id' | 'attempt' | 'accepted_count' | 'at'>): void {
    const counts = this.#counts.get(key);
    const entry: Received = {
      ...request,
      headers: withoutCredentials(request.headers),
      id: this.#lastId + 1,
      attempt: (counts?.attempts ?? 0) + 1,
      accepted_count: (counts?.accepted ?? 0) + (request.accepted ? 1 : 0),
      at: new Date(this.#clock()).toISOString(),
    };
    this.#count(key, entry);
    this.#append({ ...entry, key });
  }

  list(filter: Filter = {}): readonly Received[] {
    return this.#entries.filter(
      (entry) =>
        (filter.channel === undefined || entry.channel === filter.channel) &&
        (filter.log_id === undefined || entry.log_id === filter.log_id) &&
        (filter.accepted === undefined || String(entry.accepted) === filter.accepted),
    );
  }

  clear(): void {
    this.#entries = [];
    this.#counts.clear();
    if (this.#file !== undefined) rmSync(this.#file, { force: true });
  }

  #count(key: string, entry: Received): void {
    const counts = this.#counts.get(key) ?? { attempts: 0, accepted: 0, firstAt: Date.parse(entry.at) };
    counts.attempts = entry.attempt;
    counts.accepted = entry.accepted_count;
    this.#counts.set(key, counts);
    this.#lastId = entry.id;
    this.#entries.push(entry);
    if (this.#entries.length > KEPT) this.#entries = this.#entries.slice(-KEPT / 2);
  }
}

function withoutCredentials(headers: Received['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, CREDENTIAL_HEADERS.includes(name) ? '…' : value]),
  );
}
