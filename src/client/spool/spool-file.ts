import { createHash } from 'node:crypto';
import type { Item } from '../handover/item.ts';
import { parsed } from '../handover/retry-rules.ts';
import { type SpoolKey, seal, unseal } from './seal.ts';

/**
 * The first line of a spool file, which is never encrypted and so contains no recipients and no content. `firstAttempt`
 * and `retryCount` are the names in adr-006-spool-retention.md.
 */
export interface SpoolHeader {
  /** 1: in the clear; 2: the items are encrypted, and this line is authenticated with them (docs/decisions/client/spool.md#0085). */
  readonly version: 1 | 2;
  /** ISO-8601 UTC. */
  readonly firstAttempt: string;
  /** Number of failed flushes. */
  readonly retryCount: number;
  readonly notifications: number;
  readonly lastError: { readonly at: string; readonly reason: string };
  /** Id of the key that encrypts the second line; absent if it is not encrypted. */
  readonly keyId?: string;
  /** Only in data/failed. */
  readonly givenUp?: { readonly at: string; readonly because: GivenUpBecause };
}

export type GivenUpBecause = 'too-old' | 'too-many-retries' | 'refused';

/** A header line, a payload line (the items as JSON, or encrypted), and a line with the SHA-256 of both. @internal */
export interface SpoolFile {
  readonly header: SpoolHeader;
  readonly payload: string;
}

/**
 * The file is not as it was written: cut off, changed, or never a spool file. The message shows none of its content.
 */
export class CorruptFileError extends Error {
  override readonly name = 'CorruptFileError';
}

/** The file may be complete, but this process cannot read it: another key, a newer version. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}

/** @internal */
export function encode({ header, payload }: SpoolFile): string {
  const lines = `${JSON.stringify(header)}\n${payload}\n`;
  return `${lines}${sha256(lines)}\n`;
}

/** @throws CorruptFileError, UnreadableFileError @internal */
export function decode(text: string): SpoolFile {
  const header = decodeHeader(text);
  const [, payload = '', sum, end] = text.split('\n');
  const lines = text.slice(0, text.length - 65);
  if (end !== '' || sum !== sha256(lines)) throw new CorruptFileError('it is cut off or was changed');
  return { header, payload };
}

/** @param text at least the first line @throws CorruptFileError, UnreadableFileError @internal */
export function decodeHeader(text: string): SpoolHeader {
  const end = text.indexOf('\n');
  const header = parsed(end < 0 ? '' : text.slice(0, end)) as Partial<SpoolHeader> | undefined;
  if (typeof header?.version !== 'number') throw new CorruptFileError('it does not begin as a spool file');
  if (header.version !== 1 && header.version !== 2)
    throw new UnreadableFileError(`it has version ${header.version}: a newer client wrote it`);
  const { firstAttempt, retryCount, notifications, lastError } = header;
  const whole =
    Number.isFinite(Date.parse(String(firstAttempt))) &&
    [retryCount, notifications].every((count) => Number.isInteger(count) && Number(count) >= 0) &&
    typeof lastError?.reason === 'string';
  if (!whole) throw new CorruptFileError('its first line lacks firstAttempt, retryCount, notifications or lastError');
  return header as SpoolHeader;
}

/** Characters: whatever a reason is made of, the first line stays short enough to be listed. */
const LONGEST_REASON = 500;

/** A file with these items, and with the first line that belongs to them. @internal */
export function sealItems(items: readonly Item[], given: SpoolHeader, key: SpoolKey | undefined): SpoolFile {
  const { keyId: _, ...rest } = given;
  const sealing = key ? ({ version: 2, keyId: key.id } as const) : ({ version: 1 } as const);
  const { at, reason } = rest.lastError;
  const lastError = { at, reason: reason.slice(0, LONGEST_REASON) };
  const header = { ...rest, ...sealing, notifications: items.length, lastError };
  const json = JSON.stringify(items);
  return { header, payload: key ? seal(json, key, bound(header)) : json };
}

/** What the encryption binds of the first line; not `givenUp`, as files are given up without their key, too. */
function bound({ version, firstAttempt, retryCount, notifications, lastError, keyId }: SpoolHeader): string {
  return JSON.stringify([version, firstAttempt, retryCount, notifications, lastError.at, lastError.reason, keyId]);
}

/**
 * Whoever can write to the directory can put a file there that is not encrypted, so a process with keys refuses it.
 * @throws CorruptFileError, UnreadableFileError if the key of the file is not among `keys`
 * @internal
 */
export function openItems({ header, payload }: SpoolFile, keys: readonly SpoolKey[]): Item[] {
  const key = keys.find(({ id }) => id === header.keyId);
  if (header.keyId !== undefined && key === undefined) {
    throw new UnreadableFileError(`it is encrypted with the key ${header.keyId}, which is not configured`);
  }
  if (key === undefined && keys.length > 0) {
    throw new UnreadableFileError(
      'it is not encrypted, but a spool key is configured: if it is from the time before the key, flush once without it',
    );
  }
  const items = parsed(key ? unsealed(payload, key, bound(header)) : payload);
  if (!Array.isArray(items) || !items.every(isItem)) throw new CorruptFileError('its items are not what was written');
  return items;
}

function unsealed(payload: string, key: SpoolKey, header: string): string {
  try {
    return unseal(payload, key, header);
  } catch (cause) {
    throw new CorruptFileError('its items do not decrypt, or its first line was changed', { cause });
  }
}

function isItem(value: unknown): value is Item {
  const item = (typeof value === 'object' ? value : null) as Partial<Item> | null;
  return (
    typeof item?.idempotency_key === 'string' &&
    typeof item.body === 'object' &&
    (item.kind === 'notification' || (item.kind === 'failure' && typeof item.log_id === 'string'))
  );
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
