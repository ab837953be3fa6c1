import type { Command } from 'commander';
import { createShardMark } from '../../../adapters/dynamodb/indexing/shard-mark.ts';
import { createOperatorSearch, type Found } from '../../../adapters/dynamodb/operator/operator-search.ts';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import { type ReplayRequest, type ReplayTally, replay } from '../../../core/operator/replay/replay.ts';
import { type GivenUpRows, replayCandidates } from '../../../core/operator/replay/replay-candidates.ts';
import type { SearchFilter } from '../../../core/operator/search-filter.ts';
import { confirm } from '../../../terminal/confirm.ts';
import { parseCount, parseDuration, parseId, parseRate } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { addFilterOptions, type FilterOptions, filterOf, periodOf } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { replayJournal } from './replay-journal.ts';
import { describePreview, describeReplay } from './replay-report.ts';

interface ReplayOptions extends FilterOptions {
  readonly maxAge?: number;
  readonly includeStopped?: boolean;
  readonly limit?: number;
  readonly rate: number;
  readonly dryRun?: boolean;
  readonly id?: string;
  readonly yes?: boolean;
}

export function addReplay(program: Command, context: CliContext): void {
  const command = addFilterOptions(
    program
      .command('replay')
      .description('send given-up notifications again, by filter; shows first what it would send'),
  )
    .option('--max-age <D>', 'exclude notifications that were created longer ago (6h, 2d)', parseDuration)
    .option(
      '--include-stopped',
      'include notifications with a wrong recipient, cancelled ones, and those whose dead letter was dropped',
    )
    .option('--limit <N>', 'send at most N', parseCount)
    .option('--rate <N>', 'send at most N per second, 1 to 500', parseRate, 500)
    .option('--dry-run', 'only count; write and send nothing')
    .option('--id <ID>', 'continue this replay, which another machine began', parseId)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
A replay covers all dead notifications. It also covers notifications that stopped without a dead letter if they were
created in the last 24 hours, or between --from and --to. Each notification starts again with a full budget, as after a
redrive, and stores the id of the replay. After an interruption the same command continues the replay and repeats nothing.

Examples:
  npm run ops -- replay --channel slack --error-type AUTH_FAILED --dry-run
  npm run ops -- replay --tenant TENANT001 --max-age 6h --rate 20
  npm run ops -- replay --channel email --limit 100 --yes --json`,
    );
  onDeployment<ReplayOptions>(command, context, runReplay);
}

async function runReplay(session: Session, options: ReplayOptions): Promise<number> {
  const { terminal, clock } = session;
  const filter = await filterOf(options, session);
  const begun = clock();
  const journal = replayJournal(session.stateDirectory, scopeOf(options, filter, session), begun);
  const unfinished = options.id === undefined ? journal.unfinished : undefined;
  const replay_id = options.id ?? unfinished?.replay_id ?? newReplayId(session);
  if (unfinished !== undefined) {
    terminal.say(`Continuing ${replay_id}, which did not finish.\n`);
  }
  const sent_before = unfinished?.sent ?? 0;
  const onSending = (sent: number) => journal.begin(replay_id, begun, sent);
  const go = (dry_run: boolean, total?: number) =>
    run(session, options, filter, { replay_id, begun, dry_run, total, sent_before, onSending });

  // The operator confirms counts. With --yes there is nothing to confirm, and the counts come at the end.
  const preview = options.dryRun || !options.yes ? await go(true) : undefined;
  if (options.dryRun && preview) {
    const { matched, excluded, to_send, sample } = preview;
    const result = { dry_run: true, matched, excluded, sent: 0, to_send, sample };
    printResult(session, result, () => describePreview(preview, terminal.colors));
    return 0;
  }
  if (preview) {
    terminal.say(describePreview(preview, terminal.colors));
    if (preview.to_send === 0) {
      printResult(session, resultOf(replay_id, preview), () => '');
      return 0;
    }
    if (!(await confirm(`Send ${preview.to_send} again?`, options.yes, session))) return 0;
  }
  journal.begin(replay_id, begun, sent_before);
  const tally = await go(false, preview?.to_send);
  journal.end();
  printResult(session, resultOf(replay_id, tally), () => describeReplay(replay_id, tally, terminal.colors));
  return 0;
}

/** The id is short because every row that is sent stores it, and a row must stay below 1 KB. */
function newReplayId({ newId }: Session): string {
  return `replay-${newId().slice(0, 8)}`;
}

function resultOf(replay_id: string, { matched, excluded, to_send }: ReplayTally) {
  return { replay_id, matched, excluded, sent: to_send };
}

/** What makes two commands the same replay. The rate and the limit do not matter. */
function scopeOf({ from, to, maxAge, includeStopped }: ReplayOptions, filter: SearchFilter, { deployment }: Session) {
  const { clients, tables } = deployment;
  // --from may be relative to now, so its moment differs each time.
  return [clients.dynamodb.endpoint, tables.notification_log, filter, from !== undefined, to, maxAge, includeStopped];
}

interface Pass {
  readonly replay_id: string;
  readonly begun: Date;
  readonly dry_run: boolean;
  readonly total: number | undefined;
  readonly sent_before: number;
  readonly onSending: (sent: number) => void;
}

async function run(session: Session, options: ReplayOptions, filter: SearchFilter, pass: Pass): Promise<ReplayTally> {
  const { replay_id, begun, dry_run, total, sent_before, onSending } = pass;
  const { deployment, lanes, rows, clock, pause } = session;
  const { from, to } = options;
  const stopped_created = periodOf(options, begun);
  const dated = from === undefined && to === undefined ? filter : { ...filter, created: stopped_created };
  const candidates = replayCandidates(givenUpRows(session), {
    filter: dated,
    begun: begun.toISOString(),
    replay_id,
    stopped_created,
  });
  const request: ReplayRequest = {
    replay_id,
    dry_run,
    rate: options.rate,
    sent_before,
    ...(options.limit !== undefined && { limit: options.limit }),
    ...(options.maxAge !== undefined && { max_age_ms: options.maxAge }),
    ...(options.includeStopped && { include_stopped: true }),
  };
  const progress = showProgress(session);
  const verb = dry_run ? 'looked at' : 'sent';
  try {
    return await replay(candidates, request, {
      rows,
      send: lanes.send,
      policy: deployment.retry_policy,
      clock,
      pause,
      onSending,
      onProgress: ({ matched, to_send }) => progress.update({ verb, done: dry_run ? matched : to_send, total }),
    });
  } finally {
    progress.end();
  }
}

/** Reads consistently, so that no decision depends on an outdated row. */
function givenUpRows({ dynamodb, deployment, clock }: Session): GivenUpRows {
  const { notification_log, pipeline_state } = deployment.tables;
  const shards = createShardMark(dynamodb, pipeline_state).read;
  const search = createOperatorSearch(dynamodb, notification_log, clock, { consistent: true, shards });
  return {
    dead: (died, filter) => rowsOf(search.work('dead', died, filter)),
    created: (period, filter) => rowsOf(search.created(period, filter)),
  };
}

async function* rowsOf(found: AsyncIterable<Found>): AsyncGenerator<ForeignRow> {
  for await (const { row } of found) yield row;
}
