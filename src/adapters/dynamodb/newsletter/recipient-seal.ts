import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { SEALED } from '../../../core/model/notification.ts';
import {
  type Chunk,
  type ChunkKey,
  type Recipient,
  UnreadableChunkError,
} from '../../../core/newsletter/model/chunk.ts';
import { type Sealer, type SealOwner, SealRefusedError } from '../../sealing/sealer.ts';

/** The recipients of a chunk as one sealed text: lists instead of objects, compressed, as the write is paid by its size. */
export async function sealRecipients({ tenant_id, recipients, ...key }: Chunk, sealer: Sealer): Promise<string> {
  const rows = recipients.map(({ member_id, member_uuid, member_email, member_name }) =>
    member_name === undefined
      ? [member_id, member_uuid, member_email]
      : [member_id, member_uuid, member_email, member_name],
  );
  // At once: for a text this short, a stream and a thread cost as much as the work.
  const packed = deflateRawSync(JSON.stringify(rows));
  return sealer.seal(ownerOf({ tenant_id, ...key }), packed.toString('base64'));
}

export async function openRecipients(
  { tenant_id, ...key }: Omit<Chunk, 'recipients'>,
  sealed: string,
  sealer: Sealer,
): Promise<readonly Recipient[]> {
  const text = await sealer.open(ownerOf({ tenant_id, ...key }), sealed).catch((error: unknown) => {
    // Another error is KMS's or storage's, and may pass.
    throw error instanceof SealRefusedError ? unreadable(key, error) : error;
  });
  return rowsIn(text, key).map(([member_id = '', member_uuid = '', member_email = '', member_name]) => ({
    member_id,
    member_uuid,
    member_email,
    ...(member_name !== undefined && { member_name }),
  }));
}

function rowsIn(text: string, key: ChunkKey): string[][] {
  try {
    return JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString());
  } catch (error) {
    throw unreadable(key, error);
  }
}

function unreadable({ batch_id, chunk }: ChunkKey, cause: unknown): UnreadableChunkError {
  return new UnreadableChunkError(`Chunk ${chunk} of batch ${batch_id} was altered, or sealed for another place.`, {
    cause,
  });
}

/** A chunk opens in its place only. */
function ownerOf({ tenant_id, email_id, batch_id, chunk }: Omit<Chunk, 'recipients'>): SealOwner {
  return { tenant_id, purpose: SEALED.members, id: `${email_id}#${batch_id}#${chunk}` };
}
