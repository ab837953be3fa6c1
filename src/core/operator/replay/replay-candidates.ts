import { asNotification, type ForeignRow } from '../../model/foreign-row.ts';
import { stateOf } from '../../model/row-state.ts';
import type { Period, SearchFilter } from '../search-filter.ts';

/** NotificationLog as a replay goes through it: page by page, what matches the filter, each row as it is when read. */
export interface GivenUpRows {
  /** What died in the period, urgent first, oldest first. */
  dead(died: Period, filter: SearchFilter): AsyncIterable<ForeignRow>;
  /** What was created in the period, whatever became of it. */
  created(created: Period, filter: SearchFilter): AsyncIterable<ForeignRow>;
}

export interface CandidatesRequest {
  readonly filter: SearchFilter;
  /** What was given up after this is not the replay's: it may be what the replay itself sent. */
  readonly begun: string;
  readonly replay_id: string;
  /** Where those without a dead letter are looked for; they are in no index of their own. */
  readonly stopped_created: Period;
}

/** Sorts before every time. */
const BEGINNING = '0000';

/**
 * Every notification that matches and was given up before the replay began, once: first the dead, then those that were
 * given up without a dead letter, and those that were given up and are delivered or under way by now.
 */
export async function* replayCandidates(rows: GivenUpRows, request: CandidatesRequest): AsyncGenerator<ForeignRow> {
  const { filter, begun } = request;
  yield* rows.dead({ from: BEGINNING, to: begun }, filter);
  for await (const row of rows.created(request.stopped_created, filter)) {
    if (isOfSecondPass(row, request)) yield row;
  }
}

function isOfSecondPass(row: ForeignRow, { begun, replay_id }: CandidatesRequest): boolean {
  if (row['failure_reason'] === undefined || stateOf(asNotification(row), new Date(begun)) === 'dead') return false;
  const ownDoing = row['replay_id'] === replay_id && String(row['updated_at']) >= begun;
  return !ownDoing;
}
