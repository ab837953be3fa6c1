import type { Feedback } from '../../src/core/delivery-events/delivery-event.ts';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import type { Composition } from './channel-program.ts';

/** What may begin, or happen, in the explored part of a history. */
export const LIMITS = [
  'workers',
  'sweeps',
  'forces',
  'redrives',
  'tells',
  'cancels',
  'retries',
  'postpones',
  'indexings',
  'edits',
  'requests',
] as const;
export type Limit = (typeof LIMITS)[number];

/** A small world: what there is at its start, what may happen in it, and how often. */
export interface Scope extends Composition, Partial<Readonly<Record<Limit, number>>> {
  /** Beside what ends well: refusals, lost answers, deaths, repeats, a second delivery, time that passes meanwhile. */
  readonly faults: number;
  /** Notifications; 1 unless given. */
  readonly rows?: number;
  /** Written by others, in the clear and without index keys: the indexer takes them in. */
  readonly foreign?: true;
  /** They name a fallback channel. */
  readonly fallback?: true;
  /** Messages per row in the lane at the start, of different sweeps; 1 unless given. */
  readonly messages?: number;
  /** Messages that an invocation may take together; 1 unless given. */
  readonly batch?: number;
  /** The provider's first answers for each row; it accepts after them. */
  readonly script?: readonly ProviderErrorType[];
  /** What it reports of each acceptance. */
  readonly feedback?: Feedback;
  /** Before SQS moves a message to the dead-letter queue; as deployed unless given. */
  readonly receives?: number;
  /** Beginnings of the ports whose calls may hang, each call by itself. */
  readonly hangs?: readonly string[];
  /** Those that may stop to answer any call, all of them at once, until they answer again. */
  readonly silences?: readonly string[];
}
