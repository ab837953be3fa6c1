import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

/** A replay that did not finish is gone on with for so long; after that, the same command is a new replay. */
const VALID_MS = 24 * 3_600_000;

const entry = v.object({
  replay_id: v.pipe(v.string(), v.minLength(1)),
  begun: v.pipe(v.string(), v.isoTimestamp()),
  sent: v.optional(v.number(), 0),
});

/** A replay's id, kept while it runs, so that the same command goes on with it after an interruption. */
export interface ReplayJournal {
  /** The same replay that did not finish, and how many it sent at most; undefined: there is none. */
  readonly unfinished: { readonly replay_id: string; readonly sent: number } | undefined;
  begin(replay_id: string, now: Date, sent: number): void;
  end(): void;
}

/** @param what everything that makes it the same replay: deployment and filter */
export function replayJournal(directory: string, what: object, now: Date): ReplayJournal {
  const name = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16);
  const path = join(directory, `replay-${name}.json`);
  return {
    unfinished: read(path, now),
    begin(replay_id, begun, sent) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path, JSON.stringify({ replay_id, begun: begun.toISOString(), sent }));
    },
    end: () => rmSync(path, { force: true }),
  };
}

function read(path: string, now: Date): ReplayJournal['unfinished'] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  // A file that the interruption cut off names no replay: nothing was sent under it yet.
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), entry), text);
  if (!parsed.success || Date.parse(parsed.output.begun) < now.getTime() - VALID_MS) return undefined;
  return parsed.output;
}
