import { defined } from '../../model/collections.ts';
import { shownState } from '../accounting/counts.ts';
import {
  type Batch,
  batchId,
  type ChunkKey,
  type ChunkState,
  EXCLUDED_BATCH,
  placeInBatch,
  processedAt,
  type Recipient,
  type ShownState,
} from '../model/batch.ts';
import { type BatchEvents, EVENT_KINDS, type EventKind, hasBit } from '../model/batch-events.ts';
import type { Email } from '../model/email.ts';
import type { StoredMember } from '../model/member.ts';
import type { BatchStore, ChunkStore, EventStore } from '../model/ports.ts';

/** Its reason says why it is excluded or failed; `left` for an uncertain one that an operator left so. */
export type RecipientView = ReturnType<typeof viewOf>;

/** An email has recipients once all are frozen: what a preparation has made that was refused or cancelled is nobody's. */
type Listed = Pick<Email, 'email_id' | 'prepared'>;

export interface RecipientPlace {
  readonly batch_id: string;
  readonly chunk: number;
}

export interface RecipientsRequest {
  readonly email: Listed;
  /** Absent: all. */
  readonly state?: ShownState;
  /** A page ends with the chunk that reaches it. */
  readonly limit: number;
  readonly from?: RecipientPlace;
  /** Whether addresses and names are shown. */
  readonly identities: boolean;
}

export interface RecipientsDeps {
  readonly batches: Pick<BatchStore, 'read' | 'from'>;
  readonly chunks: Pick<ChunkStore, 'states' | 'readState' | 'readChunk'>;
  readonly events: Pick<EventStore, 'read'>;
}

/** Batches that one page looks at, so that a rare state costs no page more than this. */
const MOST_BATCHES = 200;

/** The recipients of an email in the order in which they were frozen: batch after batch, the excluded ones last. */
export async function listRecipients(
  request: RecipientsRequest,
  deps: RecipientsDeps,
): Promise<{ readonly recipients: readonly RecipientView[]; readonly next?: RecipientPlace }> {
  const found: RecipientView[] = [];
  if (request.email.prepared === undefined) return { recipients: found };
  for await (const part of partsOf(request, deps)) {
    if ('next' in part) return { recipients: found, next: part.next };
    if (found.length >= request.limit) return { recipients: found, next: part.chunk };
    found.push(...(await recipientsOf(part.chunk, part.events, request, deps)));
  }
  return { recipients: found };
}

/** The chunks that may have recipients in the state, and where the next page begins after as many batches as one looks at. */
async function* partsOf(
  { email: { email_id }, state, from }: RecipientsRequest,
  { batches, chunks, events }: RecipientsDeps,
) {
  const first = ({ batch_id }: Batch) => (batch_id === from?.batch_id ? from.chunk : 0);
  const isNumbered = from?.batch_id !== EXCLUDED_BATCH;
  const numbered = isNumbered ? await batches.from(email_id, from?.batch_id ?? batchId(0), MOST_BATCHES) : [];
  for (const batch of numbered) {
    if (state !== undefined && batch.counts[state] === 0) continue;
    const states = (await chunks.states(email_id, batch.batch_id)).slice(0, batch.chunks);
    const told = await events.read(email_id, batch.batch_id);
    for (const chunk of states.slice(first(batch))) yield { chunk, events: told };
  }
  const last = numbered.at(-1);
  if (numbered.length === MOST_BATCHES && last !== undefined) {
    yield { next: { batch_id: batchId(Number(last.batch_id) + 1), chunk: 0 } };
    return;
  }
  if (state !== undefined && state !== 'excluded') return;
  const excluded = await batches.read(email_id, EXCLUDED_BATCH);
  // It has as many chunks as it takes, so they are read one by one.
  for (let n = excluded ? first(excluded) : 0; n < (excluded?.chunks ?? 0); n++) {
    const chunk = await chunks.readState({ email_id, batch_id: EXCLUDED_BATCH, chunk: n });
    if (chunk !== undefined) yield { chunk, events: undefined };
  }
}

async function recipientsOf(
  chunk: ChunkState,
  events: BatchEvents | undefined,
  { state, identities }: RecipientsRequest,
  { chunks }: RecipientsDeps,
): Promise<RecipientView[]> {
  const { email_id, batch_id } = chunk;
  const places = [...chunk.states].flatMap((code, n) => {
    const shown = shownState(code);
    return state === undefined || shown === state ? [{ n, shown }] : [];
  });
  if (places.length === 0) return [];
  const frozen = await chunks.readChunk({ email_id, batch_id, chunk: chunk.chunk });
  return places.flatMap(({ n, shown }) => {
    const recipient = frozen?.recipients[n];
    return recipient === undefined ? [] : [viewOf(recipient, { n, shown, identities }, chunk, events)];
  });
}

function viewOf(
  { member_id, member_uuid, member_email, member_name }: Recipient,
  { n, shown, identities }: { readonly n: number; readonly shown: ShownState; readonly identities: boolean },
  state: ChunkState,
  events: BatchEvents | undefined,
) {
  const { email_id, batch_id, chunk, reasons, message_ids } = state;
  const place = placeInBatch(chunk, n);
  const told: readonly EventKind[] = EVENT_KINDS.filter((kind) => hasBit(events?.bits[kind], place));
  return defined({
    recipient_id: `${email_id}-${batch_id}-${chunk}-${n}`,
    batch_id,
    member_id,
    member_uuid,
    ...(identities && { member_email, member_name }),
    state: shown,
    reason: reasons[n],
    message_id: message_ids[n],
    processed_at: processedAt(state, n),
    events: told,
  });
}

const EXPIRED = { state: 'expired' } as const;

export interface FindDeps {
  readonly batches: Pick<BatchStore, 'list'>;
  readonly chunks: Pick<ChunkStore, 'readState' | 'readChunk'>;
  readonly events: Pick<EventStore, 'read'>;
  /** Of an address of the email's tenant. */
  readonly hashOf: (address: string) => Promise<string>;
}

/**
 * A member among the recipients of an email, without address and name unless they are asked for, by the hash that it had when the preparation began;
 * undefined where it is none of them; `expired` where they are gone. Recipients were frozen in the order of their addresses' hashes, per rendering
 * and sending domain, so about fifteen of 20,000 chunks are opened.
 * @throws UnreadableChunkError where they were altered, or sealed for another place
 */
export async function findRecipient(
  email_id: string,
  { member_id, email_hash }: Pick<StoredMember, 'member_id' | 'email_hash'>,
  { batches, chunks, events, hashOf }: FindDeps,
  { identities }: { readonly identities: boolean } = { identities: false },
): Promise<RecipientView | { readonly state: 'expired' } | undefined> {
  const recipientsAt = async (place: ChunkKey) => (await chunks.readChunk(place))?.recipients;
  // Who moved during the preparation lies where it was, out of the order: the middle one of three is not misled by one.
  const middleOf = async (recipients: readonly Recipient[]) =>
    (await Promise.all(recipients.map(({ member_email }) => hashOf(member_email)))).sort()[recipients.length >> 1] ??
    '';
  const startsBefore = async (recipients: readonly Recipient[]) =>
    (await middleOf(recipients.slice(0, 3))) < email_hash;
  const streams = Map.groupBy(await batches.list(email_id), ({ batch_id, rendering, fallback_sending_domain }) =>
    batch_id === EXCLUDED_BATCH ? batch_id : `${rendering} ${fallback_sending_domain}`,
  );
  for (const stream of streams.values()) {
    const places = stream.flatMap(({ batch_id, chunks }) =>
      Array.from({ length: chunks }, (_, chunk) => ({ email_id, batch_id, chunk })),
    );
    // From the last chunk that starts before the address: several excluded members of one address may fill many.
    let [from, to] = [0, places.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const place = places[middle];
      const recipients = place && (await recipientsAt(place));
      if (recipients === undefined) return EXPIRED;
      if (await startsBefore(recipients)) from = middle + 1;
      else to = middle;
    }
    for (const place of places.slice(Math.max(0, from - 1))) {
      const recipients = await recipientsAt(place);
      if (recipients === undefined) return EXPIRED;
      const n = recipients.findIndex((one) => one.member_id === member_id);
      const [recipient, state] = [recipients[n], n < 0 ? undefined : await chunks.readState(place)];
      if (recipient !== undefined && state !== undefined) {
        const of = place.batch_id === EXCLUDED_BATCH ? undefined : await events.read(email_id, place.batch_id);
        const shown = shownState(state.states[n] ?? '');
        return viewOf(recipient, { n, shown, identities }, state, of);
      }
      if (recipients.length === 0 || (await middleOf(recipients.slice(-3))) > email_hash) break;
    }
  }
  return undefined;
}

/** A batch without what the job keeps on it for itself. */
function batchView(batch: Batch) {
  const { tenant_id, version, progress, claim_id, claim_until, provider_failures, rendering, ...rest } = batch;
  const { warmed_domain, suspects, ...shown } = rest;
  return shown;
}

/** The batches of an email by number, a page at a time; that of the excluded recipients comes last. */
export async function listBatches(
  { email_id, prepared }: Listed,
  { limit, after }: { readonly limit: number; readonly after?: string },
  batches: Pick<BatchStore, 'read' | 'from'>,
): Promise<{ readonly batches: readonly ReturnType<typeof batchView>[]; readonly next?: string }> {
  if (prepared === undefined) return { batches: [] };
  const from = batchId(after === undefined ? 0 : Number(after) + 1);
  const found = await batches.from(email_id, from, limit);
  const last = found.at(-1);
  if (found.length === limit && last !== undefined) return { batches: found.map(batchView), next: last.batch_id };
  const excluded = await batches.read(email_id, EXCLUDED_BATCH);
  return { batches: [...found, ...(excluded ? [excluded] : [])].map(batchView) };
}
