import { ExplainedError } from '../../model/problem.ts';
import { RECIPIENT_STATES } from './recipient-state.ts';

/** Most recipients of a chunk: one call to SES, one item, one checkpoint. */
export const CHUNK_SIZE = 50;

/** Days for which the addresses of recipients are kept where the stage says nothing else. */
export const RECIPIENT_DAYS = 90;

/** A recipient as the preparation froze it. `n` of the event tags is its place in the chunk, from 0. */
export interface Recipient {
  /** `<email_id>-<batch_id>-<chunk>-<n>`, not stored: made when shown. */
  readonly member_id: string;
  readonly member_uuid: string;
  readonly member_email: string;
  readonly member_name?: string;
}

/** Which chunk: the partition is an email's batch, the number counts from 0. */
export interface ChunkKey {
  readonly email_id: string;
  readonly batch_id: string;
  readonly chunk: number;
}

/** The place of a recipient in its batch, by which the bits of events are kept: the same however full its chunks are. */
export const placeInBatch = (chunk: number, n: number): number => chunk * CHUNK_SIZE + n;

/** Up to 50 recipients, written once by the preparation. */
export interface Chunk extends ChunkKey {
  readonly tenant_id: string;
  readonly recipients: readonly Recipient[];
}

/** The recipients of a chunk can never be read: they were altered, sealed for another place, or are gone. */
export class UnreadableChunkError extends ExplainedError {
  override readonly name = 'UnreadableChunkError';
}

/** One call to the provider for recipients of a chunk; between its claim and its record the outcome is unknown. */
export interface Call {
  readonly call_id: string;
  /** Places in the chunk, ascending. */
  readonly entries: readonly number[];
  /** From then on nobody can be in this call any more: what is not recorded is uncertain. */
  readonly until: string;
}

/** The small state beside a chunk. Each change needs the version that it was read with. */
export interface ChunkState extends ChunkKey {
  readonly version: number;
  /** One character of RECIPIENT_STATES per recipient. */
  readonly states: string;
  /** Reasons of excluded and failed recipients, and of pending ones that were refused, by place in the chunk. */
  readonly reasons: Readonly<Record<string, string>>;
  /** How often a recipient was refused for the time being, by place in the chunk. */
  readonly tries: Readonly<Record<string, number>>;
  /** The call that left a recipient uncertain, by place in the chunk: its answer may still come. */
  readonly unanswered: Readonly<Record<string, string>>;
  /** The provider's message ids, by place in the chunk. */
  readonly message_ids: Readonly<Record<string, string>>;
  /** The open call: present while entries are claimed. A chunk has one open call at most. */
  readonly call?: Call;
  /** Time of the last recorded call; `processedAt` tells that of a recipient (the source's processed_at). */
  readonly processed_at?: string;
  /** Places by the time of their last call, where that is another one, or where neither state nor tries tell of a call. */
  readonly processed: Readonly<Record<string, readonly number[]>>;
  /** When a call last left a recipient uncertain; present while there are uncertain ones. */
  readonly uncertain_at?: string;
}

/** When the last call for a recipient was recorded; undefined before its first one, and once it is to be sent again. */
export function processedAt({ processed, processed_at, states, tries }: ProcessedState, n: number) {
  const other = Object.keys(processed).find((at) => processed[at]?.includes(n));
  if (other !== undefined) return other;
  const tellsOfCall = SHOW_A_CALL.includes(states.charAt(n)) || tries[n] !== undefined;
  return tellsOfCall ? processed_at : undefined;
}

type ProcessedState = Pick<ChunkState, 'states' | 'tries' | 'processed_at' | 'processed'>;

const SHOW_A_CALL: readonly string[] = [
  RECIPIENT_STATES.submitted,
  RECIPIENT_STATES.failed,
  RECIPIENT_STATES.uncertain,
];

/**
 * The times after a call. One call for all of a chunk needs one time, several need one each. A record that comes late
 * moves no other recipient's.
 */
export function processedTimes(
  before: ChunkState,
  { states, tries }: Pick<ChunkState, 'states' | 'tries'>,
  { at, places }: { readonly at: string; readonly places: readonly number[] },
): Required<Pick<ChunkState, 'processed_at' | 'processed'>> {
  const { processed_at: last = at } = before;
  const told = { states, tries, processed_at: at > last ? at : last, processed: {} };
  const times = [...states].map((_, n) => (places.includes(n) ? at : processedAt(before, n)));
  const others = [...times.keys()].filter((n) => times[n] !== undefined && times[n] !== processedAt(told, n));
  const processed = Object.fromEntries(Map.groupBy(others, (n) => times[n] ?? at));
  return { processed_at: told.processed_at, processed };
}
