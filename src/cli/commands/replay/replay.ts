import type { Command } from 'commander';
import { createOperatorSearch, type Found } from '../../../adapters/dynamodb/operator/operator-search.ts';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import { type ReplayRequest, type ReplayTally, replay } from '../../../core/operator/replay/replay.ts';
import { type GivenUpRows, replayCandidates } from '../../../core/operator/replay/replay-candidates.ts';
import type { SearchFilter } from '../../../core/operator/search-filter.ts';
import { confirmed } from '../../../terminal/confirm.ts';
import { count, duration, id, rate } from '../../../terminal/option-values.ts';
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
    program.command('replay').description('send again what was given up, by filter; first shows what that would be'),
  )
    .option('--max-age <D>', 'leave out what was created longer ago (6h, 2d)', duration)
    .option(
      '--include-stopped',
      'also what stopped for a wrong recipient, was cancelled, or whose dead letter was dropped',
    )
    .option('--limit <N>', 'send at most N', count)
    .option('--rate <N>', 'send at most N a second, 1 to 500', rate, 500)
    .option('--dry-run', 'only count: write and send nothing')
    .option('--id <ID>', 'go on with this replay, begun elsewhere', id)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
It goes through all that is dead, and through what stopped without a dead letter among what was created in the last 24
hours, or as --from and --to say. Each notification starts anew, as after a redrive, and keeps the replay's id.
Interrupted, the same command goes on where it stopped and repeats nothing.

Examples:
  npm run ops -- replay --channel slack --error-type AUTH_FAILED --dry-run
  npm run ops -- replay --tenant TENANT001 --max-age 6h --rate 20
  npm run ops -- replay --channel email --limit 100 --yes --json`,
    );
  onDeployment<ReplayOptions>(command, context, runReplay);
}

async function runReplay(session: Session, options: ReplayOptions): Promise<number> {
  const { json, terminal, clock } = session;
  const filter = await filterOf(options, session);
  const begun = clock();
  const journal = replayJournal(session.stateDirectory, scopeOf(options, filter, session), begun);
  const unfinished = options.id === undefined ? journal.unfinished : undefined;
  const replay_id = options.id ?? unfinished?.replay_id ?? newReplayId(session);
  if (unfinished !== undefined) {
    terminal.say(`Going on with ${replay_id}, which did not finish.\n`);
  }
  const sent_before = unfinished?.sent ?? 0;
  const onSending = (sent: number) => journal.begin(replay_id, begun, sent);
  const go = (dry_run: boolean, total?: number) =>
    run(session, options, filter, { replay_id, begun, dry_run, total, sent_before, onSending });

  // What is confirmed has been counted; who confirms unseen gets the counts afterwards.
  const preview = options.dryRun || !options.yes ? await go(true) : undefined;
  if (options.dryRun && preview) {
    const { matched, excluded, to_send, sample } = preview;
    const result = { dry_run: true, matched, excluded, sent: 0, to_send, sample };
    terminal.print(json ? `${JSON.stringify(result)}\n` : describePreview(preview, terminal.colors));
    return 0;
  }
  if (preview) {
    terminal.say(describePreview(preview, terminal.colors));
    if (preview.to_send === 0) {
      terminal.print(json ? `${JSON.stringify(resultOf(replay_id, preview))}\n` : '');
      return 0;
    }
    if (!(await confirmed(`Send ${preview.to_send} again?`, options.yes, session))) return 0;
  }
  journal.begin(replay_id, begun, sent_before);
  const tally = await go(false, preview?.to_send);
  journal.end();
  terminal.print(
    json ? `${JSON.stringify(resultOf(replay_id, tally))}\n` : describeReplay(replay_id, tally, terminal.colors),
  );
  return 0;
}

/** Short, for it is kept in every row that is sent, and these are to stay below a kilobyte. */
function newReplayId({ newId }: Session): string {
  return `replay-${newId().slice(0, 8)}`;
}

function resultOf(replay_id: string, { matched, excluded, to_send }: ReplayTally) {
  return { replay_id, matched, excluded, sent: to_send };
}

/** What makes a command the same replay as an earlier one; how fast it goes and how far does not. */
function scopeOf({ from, to, maxAge, includeStopped }: ReplayOptions, filter: SearchFilter, { deployment }: Session) {
  const { clients, tables } = deployment;
  // A relative --from or --max-age is another moment each time.
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

/** Consistent reads: what is decided here is not decided on what was true a second ago. */
function givenUpRows({ dynamodb, deployment, clock }: Session): GivenUpRows {
  const search = createOperatorSearch(dynamodb, deployment.tables.notification_log, clock, { consistent: true });
  return {
    dead: (died, filter) => rowsOf(search.work('dead', died, filter)),
    created: (period, filter) => rowsOf(search.created(period, filter)),
  };
}

async function* rowsOf(found: AsyncIterable<Found>): AsyncGenerator<ForeignRow> {
  for await (const { row } of found) yield row;
}
