import { changeUntil } from '../../model/changes.ts';
import { type Clock, epochMs } from '../../model/time.ts';
import { type Chunk, type ChunkKey, placeInBatch, type Recipient, UnreadableChunkError } from '../model/batch.ts';
import { hasBit, withBits } from '../model/batch-events.ts';
import type { Email } from '../model/email.ts';
import { hasUnsubscribed } from '../model/member.ts';
import type { ChunkStore, EmailStore, EventStore, MemberStore, Sealing } from '../model/ports.ts';

export interface RecipientPlace extends ChunkKey {
  readonly n: number;
  /** Keyed hash of tenant and address: outlives the chunk. */
  readonly email_hash?: string;
}

export interface UnsubscribeDeps {
  readonly emails: Pick<EmailStore, 'read' | 'content'>;
  readonly chunks: Pick<ChunkStore, 'readChunk'>;
  readonly events: Pick<EventStore, 'read' | 'change'>;
  readonly members: Pick<MemberStore, 'unsubscribe' | 'resubscribe' | 'facts' | 'read'>;
  readonly sealing: Pick<Sealing, 'emailHash'>;
  readonly clock: Clock;
}

/** Stands in for a place that no token names, so that every answer costs a read. */
const NOWHERE = '-';

/** The email of a link, as long as its rows exist. Undefined alike for a wrong, an expired and an unknown place. */
export async function emailOf(
  place: Pick<RecipientPlace, 'email_id'> | undefined,
  { emails, clock }: Pick<UnsubscribeDeps, 'emails' | 'clock'>,
): Promise<Email | undefined> {
  const email = await emails.read(place?.email_id ?? NOWHERE);
  // DynamoDB removes expired rows within days, not at once.
  return place !== undefined && email !== undefined && email.expires_at * 1000 > clock().getTime() ? email : undefined;
}

/**
 * Unsubscribes a recipient from the newsletter of an email, and counts it for the email. It is kept by the address, so it
 * holds for a deleted member, too, and outlives imports; a member who has another address since is unsubscribed there,
 * too, as long as the recipients of the mailing are stored. May be repeated. False where there is no such recipient.
 * @param undo lifts it in the same way, for a day; what the email has counted stays
 */
export async function unsubscribe(
  place: RecipientPlace | undefined,
  deps: UnsubscribeDeps,
  { undo = false }: { readonly undo?: boolean } = {},
): Promise<boolean> {
  const email = await emailOf(place, deps);
  if (place === undefined || email === undefined) return false;
  const { email_id, batch_id, chunk, n, email_hash } = place;
  const stored = await readRecipients({ email_id, batch_id, chunk }, { hashed: email_hash !== undefined }, deps.chunks);
  const recipient = stored?.recipients[n];
  if (recipient === undefined && email_hash === undefined) return false;
  if (undo && (await unsubscription(email, place, deps))?.can_undo === false) return false;
  const { tenant_id, newsletter_id } = email;
  const at = deps.clock().toISOString();
  const write = async (hash: string) => {
    if (!undo) return deps.members.unsubscribe(tenant_id, hash, newsletter_id, at);
    // The member's present address may have been unsubscribed in another way, or before.
    const left = await unsubscription(email, { ...place, email_hash: hash }, deps);
    if (left?.can_undo) await deps.members.resubscribe(tenant_id, hash, newsletter_id);
  };
  if (recipient !== undefined) await writeForPerson({ tenant_id, recipient }, write, deps);
  else if (email_hash !== undefined) await write(email_hash);
  if (undo) return true;
  const bit = placeInBatch(chunk, n);
  await changeUntil(
    () => deps.events.read(email_id, batch_id),
    ({ bits: { unsubscribed, ...bits } }) =>
      hasBit(unsubscribed, bit) ? undefined : { bits: { ...bits, unsubscribed: withBits(unsubscribed, [bit]) } },
    deps.events.change,
  );
  return true;
}

/** For so long an unsubscription can be taken back by its link: a mail that is forwarded later lifts nothing. */
const UNDO_MS = 86_400_000;

/**
 * Whether the address that got the mail is unsubscribed: a page that is opened once more says so. The link takes back what
 * it did itself; what an import, the API or another mail's link wrote stays, and so does who complained.
 */
export async function unsubscription(
  { tenant_id, newsletter_id }: Email,
  { email_id, batch_id, chunk, n, email_hash = '' }: RecipientPlace,
  { members, events, clock }: Pick<UnsubscribeDeps, 'members' | 'events' | 'clock'>,
): Promise<{ readonly can_undo: boolean } | undefined> {
  const facts = (await members.facts(tenant_id, [email_hash])).get(email_hash);
  if (!hasUnsubscribed(facts, newsletter_id)) return undefined;
  // A time that was imported may be to come.
  const age = Math.abs(clock().getTime() - epochMs(facts?.unsubscribed[newsletter_id] ?? ''));
  if (facts?.suppressed !== undefined || !(age < UNDO_MS)) return { can_undo: false };
  const { bits } = await events.read(email_id, batch_id);
  return { can_undo: hasBit(bits.unsubscribed, placeInBatch(chunk, n)) };
}

/** The recipients of a chunk as long as they are kept, and can be read where nothing else tells their hashes. */
export async function readRecipients(
  key: ChunkKey,
  { hashed }: { readonly hashed: boolean },
  chunks: Pick<ChunkStore, 'readChunk'>,
): Promise<Chunk | undefined> {
  return chunks.readChunk(key).catch((error: unknown) => {
    if (hashed && error instanceof UnreadableChunkError) return undefined;
    throw error;
  });
}

/**
 * Writes what a person decided to the address that got the mail and, if the member has another one since, to the present
 * address, too. The old one is written before the member is read, and a member that moves carries the facts once more
 * after it has moved (left-addresses.ts): one of both sees the other.
 */
export async function writeForPerson(
  { tenant_id, recipient }: { readonly tenant_id: string; readonly recipient: Recipient },
  write: (email_hash: string) => Promise<void>,
  { members, sealing }: { readonly members: Pick<MemberStore, 'read'> } & Pick<UnsubscribeDeps, 'sealing'>,
): Promise<void> {
  const mailed = await sealing.emailHash(tenant_id, recipient.member_email);
  await write(mailed);
  const member = await members.read(tenant_id, recipient.member_id);
  if (member !== undefined && member.email_hash !== mailed) await write(member.email_hash);
}
