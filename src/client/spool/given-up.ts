import type { Spool } from './spool.ts';
import type { GivenUpBecause } from './spool-file.ts';
import { originName } from './spool-names.ts';

/** Reported to operators once: a file is in data/failed and waits for them. */
export interface GivenUp {
  /** Name in the spool. A corrupt or refused file has another name in data/failed, which begins with this name. */
  readonly file: string;
  readonly because: GivenUpBecause | 'corrupt';
  /** Undefined if the file is not readable. */
  readonly notifications?: number;
  readonly firstAttempt?: string;
  /** The last error, or the fault of the file. */
  readonly reason: string;
}

/** Describes a file in data/failed from the file alone, because the process that moved it there may have died. */
export async function describeGivenUp(spool: Spool, name: string): Promise<GivenUp> {
  const file = originName(name);
  const { header } = await spool.head('failed', name);
  if (header === undefined) return { file, because: 'corrupt', reason: await faultOf(spool, name) };
  const { givenUp, notifications, firstAttempt, lastError } = header;
  // The header lacks it only if a flush that had lost its lock moved a file that was sent again in the meantime.
  const because = givenUp?.because ?? 'too-many-retries';
  return { file, because, notifications, firstAttempt, reason: lastError.reason };
}

async function faultOf(spool: Spool, name: string): Promise<string> {
  try {
    spool.open(await spool.read('failed', name));
    return 'it was set aside';
  } catch (error) {
    return (error as Error).message;
  }
}
