import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import type { Channel } from '../../core/model/channels.ts';
import type { History } from './scripted-answer.ts';

/** One request to a simulated provider. */
export interface Received {
  readonly id: number;
  readonly channel: Channel;
  /** Where the provider is told it; Slack and Teams are not, so there it is only known when the body names it. */
  readonly log_id?: string;
  /** Which attempt of this notification at this address it was; the first is 1. */
  readonly attempt: number;
  /** How often this notification has been accepted at this address, this request included: above 1 is a duplicate. */
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

/** How many are kept to be looked at; what was counted of the others stays counted. */
const KEPT = 20_000;
const CREDENTIAL_HEADERS = ['authorization', 'cookie'];

interface Counts {
  attempts: number;
  accepted: number;
  readonly firstAt: number;
}

/** What the simulated providers received; with a file it survives the runtime. */
export class ReceivedLog {
  readonly #file: string | undefined;
  readonly #clock: () => number;
  #entries: Received[] = [];
  readonly #counts = new Map<string, Counts>();
  #lastId = 0;

  constructor(file?: string, clock: () => number = Date.now) {
    this.#file = file;
    this.#clock = clock;
    if (file === undefined || !existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      // A killed runtime may leave half a line.
      const entry = line.endsWith('}') ? (JSON.parse(line) as Received & { key: string }) : undefined;
      if (entry !== undefined) this.#count(entry.key, entry);
    }
  }

  /** @param key tells notifications at one address apart */
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
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify({ ...entry, key })}\n`);
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
