import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { Chunk, Recipient } from '../../../core/newsletter/model/chunk.ts';

/** Encrypts a text for its owner; in another place it does not open. */
export interface ChunkSealer {
  seal(owner: ChunkOwner, text: string): Promise<string>;
  /** @throws when it was sealed for another owner, or was altered */
  open(owner: ChunkOwner, sealed: string): Promise<string>;
}

export interface ChunkOwner {
  readonly tenant_id: string;
  /** `<email_id>#<batch_id>#<chunk>` */
  readonly id: string;
}

const pack = promisify(deflateRaw);
const unpack = promisify(inflateRaw);

/** The recipients of a chunk as one sealed text: lists instead of objects, compressed, as the write is paid by its size. */
export async function sealRecipients({ tenant_id, recipients, ...key }: Chunk, sealer: ChunkSealer): Promise<string> {
  const rows = recipients.map(({ member_id, member_uuid, member_email, member_name }) =>
    member_name === undefined
      ? [member_id, member_uuid, member_email]
      : [member_id, member_uuid, member_email, member_name],
  );
  const packed = await pack(JSON.stringify(rows));
  return sealer.seal({ tenant_id, id: ownerId(key) }, packed.toString('base64'));
}

export async function openRecipients(
  { tenant_id, ...key }: Omit<Chunk, 'recipients'>,
  sealed: string,
  sealer: ChunkSealer,
): Promise<readonly Recipient[]> {
  const text = await sealer.open({ tenant_id, id: ownerId(key) }, sealed);
  const rows: string[][] = JSON.parse((await unpack(Buffer.from(text, 'base64'))).toString());
  return rows.map(([member_id = '', member_uuid = '', member_email = '', member_name]) => ({
    member_id,
    member_uuid,
    member_email,
    ...(member_name !== undefined && { member_name }),
  }));
}

function ownerId({ email_id, batch_id, chunk }: Pick<Chunk, 'email_id' | 'batch_id' | 'chunk'>): string {
  return `${email_id}#${batch_id}#${chunk}`;
}
