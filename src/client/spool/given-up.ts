import type { Spool } from './spool.ts';
import type { GivenUpBecause } from './spool-file.ts';
import { originName } from './spool-names.ts';

/** What operators are told, once: something is in data/failed now and waits for them. */
export interface GivenUp {
  /** In the spool; `corrupt` and `refused` get a name of their own in data/failed, which begins like this one. */
  readonly file: string;
  readonly because: GivenUpBecause | 'corrupt';
  /** How many; undefined when the file does not tell. */
  readonly notifications?: number;
  readonly firstAttempt?: string;
  /** The last error, or what is wrong with the file. */
  readonly reason: string;
}

/** What there is to tell of a file in data/failed, by the file alone: whoever put it there may have died. */
export async function givenUpOf(spool: Spool, name: string): Promise<GivenUp> {
  const file = originName(name);
  const { header } = await spool.head('failed', name);
  if (header === undefined) return { file, because: 'corrupt', reason: await faultOf(spool, name) };
  const { givenUp, notifications, firstAttempt, lastError } = header;
  // Always there, unless a flush that slept through the loss of its lock moved what was sent again meanwhile.
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
