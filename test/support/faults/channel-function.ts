import { MemoryBreakers } from '../../../src/adapters/memory/memory-breakers.ts';
import type { MemoryQueue } from '../../../src/adapters/memory/memory-queue.ts';
import type { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { DeliverDeps } from '../../../src/core/delivery/deliver.ts';
import { FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { ClaimStore } from '../../../src/core/delivery/ports.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import { arrived } from '../../../src/core/model/delivery-by-attempt.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { gathered } from './gathered.ts';
import type { Provider } from './provider.ts';
import { eventually, Throttled, through, type Worker } from './worker.ts';

const CLAIM_MS = 65_000;
const PROBE_MS = 25_000;
/** A worker's window lasts one batch here, so a few failures must suffice. */
const BREAKER_POLICY = { ...DEFAULT_BREAKER_POLICY, min_samples: 2, drain_per_second: 1, most_per_second: 1 };

interface ChannelFunctionParts {
  readonly tables: MemoryTables;
  readonly queue: MemoryQueue;
  readonly provider: Provider;
  readonly clock: Clock;
}

/** What all workers of the channel share, and what goes wrong for all of them. */
export class ChannelFunction {
  readonly #parts: ChannelFunctionParts;
  readonly breakers = new MemoryBreakers();
  readonly #rows: ClaimStore;
  /** The newest claim of each row. */
  readonly #claims = new Map<string, string>();
  /** So many attempts are held for a second each, as by a budget that is used up. */
  holds = 0;
  /** While true, SQS refuses the messages of workers. */
  queueRefused = false;
  #seed = 42;

  constructor(parts: ChannelFunctionParts) {
    this.#parts = parts;
    const { rows } = parts.tables;
    // NotificationLog, with a note of each claim on a row whose events had shown before that it arrived.
    this.#rows = {
      ...rows,
      claim: async (...args) => this.#noted(args[0].log_id, await rows.claim(...args)),
      change: async (row, change) => this.#noted(row.log_id, await rows.change(row, change)),
    };
  }

  /** The dependencies of one worker: each call passes it. */
  deps(worker: Worker): DeliverDeps {
    const { tables, queue, provider, clock } = this.#parts;
    return {
      ...gathered({
        rows: through(worker, 'rows', this.#rows),
        records: through(worker, 'records', tables.records),
        sender: provider.senderFor(worker),
      }),
      contents: through(worker, 'contents', tables.contents),
      successors: through(worker, 'successors', tables.successors),
      retries: through(worker, 'retries', {
        send: async (message, delay_seconds) => {
          if (this.queueRefused) throw new Throttled('SQS is down');
          queue.send(message, delay_seconds);
        },
      }),
      gate: this.#held(
        new BreakerGate({
          store: through(worker, 'breakers', this.breakers.store),
          policy: BREAKER_POLICY,
          clock,
          pause: eventually,
          probe_ms: PROBE_MS,
        }),
      ),
      policy: DEFAULT_RETRY_POLICY,
      clock,
      random: () => this.#random(),
      pause: async () => {},
      timeLeft: () => FUNCTION_MS,
      claim_ms: CLAIM_MS,
      sendTimeout: () => new AbortController().signal,
    };
  }

  #noted<T>(log_id: string, result: T): T {
    const { tables, provider } = this.#parts;
    const row = tables.row(log_id);
    if (row?.send_status === 'SENDING' && row.claim_id !== this.#claims.get(log_id)) {
      this.#claims.set(log_id, row.claim_id ?? '');
      provider.arrivedBefore.set(log_id, arrived(row.delivery_by_attempt));
    }
    return result;
  }

  #held(gate: ProviderGate): ProviderGate {
    return {
      admit: async (row, forced) => {
        if (this.holds <= 0) return gate.admit(row, forced);
        this.holds -= 1;
        const until = new Date(this.#parts.clock().getTime() + 1_000).toISOString();
        return { do: 'hold', until, error_type: 'RATE_LIMITED', by: { budget: row.channel } };
      },
    };
  }

  /** Repeatable draws (a linear congruential generator). */
  #random(): number {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#seed / 2 ** 32;
  }
}
