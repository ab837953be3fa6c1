import { asNotification, type ForeignRow } from '../../model/foreign-row.ts';
import { stateOf } from '../../model/work/row-state.ts';
import type { Period, SearchFilter } from '../search-filter.ts';

/** NotificationLog, as a replay reads it: page by page, the rows that match the filter, each in its state when read. */
export interface GivenUpRows {
  /** The notifications that died in the period, urgent first, oldest first. */
  dead(died: Period, filter: SearchFilter): AsyncIterable<ForeignRow>;
  /** The notifications that were created in the period, in any state. */
  created(created: Period, filter: SearchFilter): AsyncIterable<ForeignRow>;
}

export interface CandidatesRequest {
  readonly filter: SearchFilter;
  /** Notifications given up after this time are left out: the replay itself may have sent them. */
  readonly begun: string;
  readonly replay_id: string;
  /** Creation period of the notifications without a dead letter. They have no index of their own. */
  readonly stopped_created: Period;
}

/** Sorts before every time. */
const BEGINNING = '0000';

/**
 * Yields every notification that matches and was given up before the replay began, each once: first the dead ones, then
 * those that were given up without a dead letter, and those that were given up and are delivered or under way by now.
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
  const sentByThisReplay = row['replay_id'] === replay_id && String(row['updated_at']) >= begun;
  return !sentByThisReplay;
}
