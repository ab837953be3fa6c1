import { type Command, InvalidArgumentError } from 'commander';
import type { Exclusion } from '../../../core/operator/operations/exclusions.ts';
import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import {
  type Counts,
  createUnstoredOperations,
  NOTHING,
  type Operation,
  type OperationStore,
} from '../../../core/operator/operations/operation.ts';
import { type NotificationView, viewOf } from '../../../core/operator/views/notification-view.ts';
import { type OwnRun, ownRun } from '../../../operator-service/operation-runner.ts';
import { unfinishedReplay } from '../../../operator-service/operations.ts';
import type { Colors } from '../../../terminal/colors.ts';
import { confirm } from '../../../terminal/confirm.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseDuration, parseRate } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { addFilterOptions } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { type ReplayOptions, replayRequest } from './replay-request.ts';

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
    .option('--rate <N>', 'send at most N per second, 1 to 500 (default: 500)', parseRate)
    .option('--dry-run', 'only count; write and send nothing')
    .option('--id <ID>', 'continue this replay as it is, with its own conditions', parseOperationId)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
A replay covers all dead notifications. It also covers notifications that stopped without a dead letter if they were
created in the last 24 hours, or between --from and --to. Each notification starts again with a full budget, as after a
redrive, and stores the id of the replay. A replay is an operation: the console lists it, pauses and resumes it. After an
interruption the same command continues it, from any machine, and repeats nothing; it may wait 15 seconds for the claim of
the process that died. Filter, period, age and limit have to be the same; a period such as --from 2d, which moves with
the clock, is continued by --id.

Examples:
  npm run ops -- replay --channel slack --error-type AUTH_FAILED --dry-run
  npm run ops -- replay --tenant TENANT001 --max-age 6h --rate 20
  npm run ops -- replay --channel email --limit 100 --yes --json`,
    );
  onDeployment<ReplayOptions>(command, context, runReplay);
}

async function runReplay(session: Session, options: ReplayOptions): Promise<number> {
  const request = await replayRequest(options, session);
  if (options.dryRun && options.id !== undefined)
    throw new OperatorError('--dry-run counts what the options say: omit --id.', EXIT_USAGE);
  if (options.dryRun) return dryRun(request, session);
  const run = runOf(session);
  const { operation: unfinished, other } = await unfinishedReplay(options.id, request, session);
  if (other !== undefined)
    session.terminal.say(`${other} did not finish, and has another period: --id ${other} continues it.\n`);
  if (unfinished !== undefined) session.terminal.say(`Continuing ${unfinished.operation_id}, which did not finish.\n`);
  const created_by = await session.operator();
  const id = options.id !== undefined && { operation_id: options.id };
  const operation = unfinished ?? (await run.create({ ...request, ...id, created_by }));
  return carryOut(await previewed(operation, run), run, options, session);
}

/** The operation with its preview, also where the process of that failed. */
async function previewed(given: Operation, run: Run): Promise<Operation> {
  const isFailed = given.status === 'failed' && given.started_at === undefined;
  const operation = isFailed ? await run.begin(given.operation_id) : given;
  return operation.status === 'previewing' ? run.follow(operation, 'looked at') : operation;
}

/** The run of a command, with its progress on the terminal. */
interface Run extends Omit<OwnRun, 'follow'> {
  follow(operation: Operation, verb: string): Promise<Operation>;
  /** The exit code of a command that the operator has ended. */
  interrupted(): number | undefined;
}

function runOf(session: Session, unstored?: OperationStore): Run {
  const { signal, exitCode } = session.interruption();
  const run = ownRun(session, signal, unstored);
  return {
    ...run,
    interrupted: exitCode,
    async follow(operation, verb) {
      const progress = showProgress(session);
      try {
        return await run.follow(operation, ({ status, progress: taken, preview }) => {
          const done = status === 'previewing' ? preview?.matched : taken.taken;
          progress.update({ verb, done: done ?? 0, total: status === 'previewing' ? undefined : preview?.taken });
        });
      } finally {
        progress.end();
      }
    },
  };
}

/** An id that the console can show, too, and that is short enough for every row that stores it. */
function parseOperationId(text: string): string {
  if (!/^[\w.-]{1,50}$/.test(text))
    throw new InvalidArgumentError('It must be an id of 1 to 50 letters, digits, dots, hyphens and underscores.');
  return text;
}

/** Counts with an operation that is not stored. */
async function dryRun(request: NewOperation, session: Session): Promise<number> {
  const run = runOf(session, createUnstoredOperations());
  const { preview = NOTHING, sample: log_ids } = await previewed(await run.create(request), run);
  const sample = await sampleOf(log_ids.slice(0, SHOWN), session);
  const { matched, excluded, taken } = preview;
  const result = { dry_run: true, matched, excluded, sent: 0, to_send: taken, sample };
  printResult(session, result, () =>
    describePreview({ counts: preview, to_send: taken, sample }, session.terminal.colors),
  );
  return 0;
}

async function carryOut(
  operation: Operation,
  run: Run,
  { yes, rate }: ReplayOptions,
  session: Session,
): Promise<number> {
  const { terminal } = session;
  const { operation_id, preview: counts = NOTHING, progress } = operation;
  if (operation.status === 'previewing') {
    await run.abandon(operation_id);
    throw new OperatorError('Interrupted. Nothing was sent.', run.interrupted());
  }
  // The operator confirms counts. With --yes there is nothing to confirm, and the counts come at the end.
  if (!yes) {
    const to_send = counts.taken - progress.taken;
    const sample = await sampleOf(operation.sample.slice(0, SHOWN), session, operation_id);
    terminal.say(describePreview({ counts, to_send, sample }, terminal.colors));
    if (to_send > 0 && !(await isConfirmed(operation, to_send, run, session))) return 0;
  }
  const begun = await run.begin(operation_id, rate);
  const done = await run.follow(begun, 'sent');
  const { matched, excluded } = done.progress;
  printResult(session, { replay_id: operation_id, matched, excluded, sent: run.sent() }, () =>
    counts.taken === 0 && !yes ? '' : describeReplay(done, run.sent(), terminal.colors),
  );
  if (done.status === 'done') return 0;
  const state = done.status === 'running' ? 'was interrupted' : `is ${done.status}`;
  throw new OperatorError(
    `${operation_id} ${state}: ${done.progress.taken} of ${counts.taken} are sent. ` +
      (done.status === 'cancelled' ? 'Somebody ended it.' : 'The same command, or the console, continues it.'),
    run.interrupted(),
  );
}

/** An operator who says no leaves nothing behind that waits for a start. */
async function isConfirmed(operation: Operation, to_send: number, run: Run, session: Session): Promise<boolean> {
  let isYes = false;
  try {
    isYes = await confirm(`Send ${to_send} again?`, false, session);
    return isYes;
  } finally {
    // What was begun before may go on later.
    if (!isYes) await run.abandon(operation.operation_id);
  }
}

const EXCLUSION_TEXTS: Readonly<Record<Exclusion, string>> = {
  delivered: 'delivered in the meantime',
  claimed: 'an attempt is under way',
  retrying: 'waits for its automatic retry',
  expired: 'older than --max-age',
  deleted: 'its writer deleted it (is_deleted)',
  dropped: 'its dead letter was dropped; --include-stopped includes it',
  set_aside: 'malformed when it was written; its writer has to correct it',
  recipient_suppressed: 'the recipient complained, or SES suppresses the address',
  beyond_limit: 'beyond --limit',
  changed: 'changed after the preview began; a new replay takes it if it still matches',
  INVALID_RECIPIENT: 'wrong recipient: correct it first; --include-stopped includes it',
  failed_over: 'failed over to another channel; replay the notification there',
  CANCELLED: 'cancelled; --include-stopped includes it',
};

interface Preview {
  readonly counts: Counts;
  readonly to_send: number;
  readonly sample: readonly NotificationView[];
}

/** The first few that a replay takes, as they are now, without those that it has taken already. */
/** Notifications that a preview shows. */
const SHOWN = 5;

async function sampleOf(
  log_ids: readonly string[],
  { rows, clock }: Pick<Session, 'rows' | 'clock'>,
  operation_id?: string,
): Promise<NotificationView[]> {
  const found = await Promise.all(log_ids.map((log_id) => rows.read(log_id)));
  const left = found
    .filter((row) => row !== undefined)
    .filter(({ replay_id }) => operation_id === undefined || replay_id !== operation_id);
  return left.map((row) => viewOf({ ...row }, clock()));
}

/** What a replay would do. */
function describePreview({ counts, to_send, sample }: Preview, colors: Colors): string {
  const shown = table<NotificationView>(
    [
      { title: 'for example', of: (row) => String(row['log_id']) },
      { title: 'tenant', of: (row) => row['tenant_id'] as string },
      { title: 'channel', of: (row) => row['channel'] as string },
      { title: 'priority', of: (row) => row['priority'] as string },
      { title: 'reason', of: (row) => row['failure_reason'] as string },
      { title: 'last error', of: (row) => row['error_type'] as string | undefined },
    ],
    sample,
    colors,
  );
  return `${describeCounts(counts, to_send, 'to send', colors)}${sample.length > 0 ? `\n${shown}` : ''}`;
}

/** What a replay did. */
function describeReplay({ operation_id, progress }: Operation, sent: number, colors: Colors): string {
  const before = progress.taken - sent;
  const line = before > 0 ? `  ${String(before).padStart(7)}  sent before\n` : '';
  const left =
    progress.left_to_sweep > 0
      ? `SQS refused ${progress.left_to_sweep} of the messages; the next sweep sends them.\n`
      : '';
  return `${colors.bold(operation_id)}\n${describeCounts(progress, sent, 'sent', colors)}${line}${left}`;
}

function describeCounts({ matched, excluded }: Counts, number: number, verb: string, colors: Colors): string {
  const line = (count: number, what: string) => `  ${String(count).padStart(7)}  ${what}\n`;
  const reasons = Object.entries(excluded).map(([reason, count]) =>
    line(count, `${colors.dim('excluded:')} ${EXCLUSION_TEXTS[reason as Exclusion]}`),
  );
  return [line(matched, 'match'), ...reasons, line(number, colors.green(verb))].join('');
}
