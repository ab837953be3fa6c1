import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

/** An unfinished replay can be continued for this long. After that the same command starts a new replay. */
const CONTINUABLE_MS = 24 * 3_600_000;

const entry = v.object({
  replay_id: v.pipe(v.string(), v.minLength(1)),
  begun: v.pipe(v.string(), v.isoTimestamp()),
  sent: v.optional(v.number(), 0),
});

/** Keeps the id of a replay on disk while the replay runs, so that the same command can continue it. */
export interface ReplayJournal {
  /** The unfinished replay of the same command, and the most that it can have sent; undefined if there is none. */
  readonly unfinished: { readonly replay_id: string; readonly sent: number } | undefined;
  begin(replay_id: string, now: Date, sent: number): void;
  end(): void;
}

/** @param scope what makes two commands the same replay: deployment and filter */
export function replayJournal(directory: string, scope: object, now: Date): ReplayJournal {
  const name = createHash('sha256').update(JSON.stringify(scope)).digest('hex').slice(0, 16);
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
  // A half-written file means that the command died before it sent anything.
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), entry), text);
  if (!parsed.success || Date.parse(parsed.output.begun) < now.getTime() - CONTINUABLE_MS) return undefined;
  return parsed.output;
}
