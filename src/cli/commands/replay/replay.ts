import { InvalidArgumentError } from 'commander';
import { searchFilter } from '../../../application/notifications.ts';
import { inText } from '../../../application/operations.ts';
import { ownRun, unfinishedReplay } from '../../../application/replay.ts';
import type { Exclusion } from '../../../core/operator/operations/exclusions.ts';
import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import { type Counts, NOTHING, type Operation } from '../../../core/operator/operations/operation.ts';
import { ALWAYS } from '../../../core/operator/search-filter.ts';
import { type NotificationView, viewOf } from '../../../core/operator/views/notification-view.ts';
import { type Chosen, value } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseDuration, parseRate } from '../../../terminal/option-values.ts';
import { confirm, printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { table } from '../../../terminal/table.ts';
import { FILTER_OPTIONS, filterOf, periodIn } from '../../session/filter-options.ts';
import { letterFaults, onDeployment, type Session } from '../../session/session.ts';

const OPTIONS = {
  ...FILTER_OPTIONS,
  '--max-age <D>': value('exclude notifications that were created longer ago (6h, 2d)', parseDuration),
  '--include-stopped':
    'include notifications with a wrong recipient, cancelled ones, and those whose dead letter was dropped',
  '--limit <N>': value('send at most N', parseCount),
  '--rate <N>': value('send at most N per second, 1 to 500 (default: 500)', parseRate),
  '--dry-run': 'only count; write and send nothing',
  '--id <ID>': value('continue this replay as it is, with its own conditions', parseOperationId),
  '--yes': 'skip the confirmation',
} as const;
type ReplayOptions = Chosen<typeof OPTIONS>;

export const addReplay = onDeployment({
  name: 'replay',
  says: 'send given-up notifications again, by filter; shows first what it would send',
  options: OPTIONS,
  help: `
A replay covers all dead notifications. It also covers notifications that stopped without a dead letter if they were
created in the last 24 hours, or between --from and --to. Each notification starts again with a full budget, as after a
redrive, and stores the id of the replay. A replay is an operation: the console lists it, pauses and resumes it. After an
interruption the same command continues it, from any machine, and repeats nothing; it may wait 15 seconds for the claim of
the process that crashed. Filter, period, age and limit have to be the same; a period such as --from 2d, which moves with
the clock, is continued by --id.

Examples:
  npm run ops -- replay --channel slack --error-type AUTH_FAILED --dry-run
  npm run ops -- replay --tenant TENANT001 --max-age 6h --rate 20
  npm run ops -- replay --channel email --limit 100 --yes --json`,
  async run(session, options) {
    const request = await replayRequest(options, session);
    if (options.dryRun && options.id !== undefined)
      throw new OperatorError('--dry-run counts what the options say: omit --id.', EXIT_USAGE);
    const run = runOf(session);
    if (options.dryRun) return dryRun(request, run, session);
    const { operation: unfinished, other } = await unfinishedReplay(options.id, request, session);
    const { say } = session.terminal;
    if (other !== undefined) say(`${other} did not finish, and has another period: --id ${other} continues it.\n`);
    if (unfinished !== undefined) say(`Continuing ${unfinished.operation_id}, which did not finish.\n`);
    const created_by = await session.operator();
    const id = options.id !== undefined && { operation_id: options.id };
    const operation = unfinished ?? (await run.create({ ...request, ...id, created_by }));
    return carryOut(await previewed(operation, run), run, options, session);
  },
});

/** Notifications per second, which is what SQS moves at most. */
const DEFAULT_RATE = 500;

async function replayRequest(options: ReplayOptions, session: Session): Promise<NewOperation> {
  const { from, to, rate = DEFAULT_RATE, limit, maxAge, includeStopped = false } = options;
  // Before stdin and the secret are read for a recipient that no replay could find.
  if (options.recipient !== undefined && options.tenant === undefined)
    throw new OperatorError('--recipient needs --tenant: a replay finds a recipient within one tenant.', EXIT_USAGE);
  const given = await filterOf(options, session);
  const period = periodIn(options, session.clock());
  // Without --to the cut-off is the end. It is left open here, so that the same command has the same period later.
  const created = to === undefined ? { from: period.from, to: ALWAYS.to } : period;
  return {
    kind: 'redrive',
    filter: { ...searchFilter(given), ...((from ?? to) !== undefined && { created }) },
    asked: inText({ ...given, ...(from && { from }), ...(to && { to }) }),
    rate,
    include_stopped: includeStopped,
    reads_stopped: true,
    created_by: '',
    ...(limit !== undefined && { limit }),
    ...(maxAge !== undefined && { max_age_ms: maxAge }),
  };
}

/** The operation with its preview, also where the process of that failed. */
async function previewed(given: Operation, run: Run): Promise<Operation> {
  const isFailed = given.status === 'failed' && given.started_at === undefined;
  const operation = isFailed ? await run.begin(given.operation_id) : given;
  return operation.status === 'previewing' ? run.follow(operation, 'looked at') : operation;
}

/** The run of a command, with its progress on the terminal. */
type Run = ReturnType<typeof runOf>;

function runOf(session: Session) {
  const { signal, exitCode } = session.interruption();
  const letters = letterFaults(session);
  const run = ownRun({ ...session, onFault: letters.onFault }, signal);
  const shown = async (verb: string, work: (show: (operation: Operation) => void) => Promise<Operation>) => {
    const progress = showProgress(session);
    try {
      return await work(({ status, progress: { taken }, preview }) => {
        const isPreview = status === 'previewing';
        const total = isPreview ? undefined : preview?.taken;
        progress.update({ verb, done: (isPreview ? preview?.matched : taken) ?? 0, total });
      });
    } finally {
      progress.end();
    }
  };
  return {
    ...run,
    letters,
    /** The exit code of a command that the operator has ended. */
    interrupted: exitCode,
    follow: (operation: Operation, verb: string) => shown(verb, (show) => run.follow(operation, show)),
    dryRun: (request: NewOperation) => shown('looked at', (show) => run.dryRun(request, show)),
  };
}

/** An id that the console can show, too, and that is short enough for every row that stores it. */
function parseOperationId(text: string): string {
  if (!/^[\w.-]{1,50}$/.test(text))
    throw new InvalidArgumentError('It must be an id of 1 to 50 letters, digits, dots, hyphens and underscores.');
  return text;
}

async function dryRun(request: NewOperation, run: Run, session: Session): Promise<number> {
  const { preview = NOTHING, sample: log_ids } = await run.dryRun(request);
  const sample = await sampleOf(log_ids, session);
  const { matched, excluded, taken } = preview;
  const result = { dry_run: true, matched, excluded, sent: 0, to_send: taken, sample };
  printResult(session, result, () => describePreview(preview, taken, sample));
  return 0;
}

async function carryOut(
  operation: Operation,
  run: Run,
  { yes, rate }: ReplayOptions,
  session: Session,
): Promise<number> {
  const { operation_id, preview: counts = NOTHING, progress } = operation;
  if (operation.status === 'previewing') {
    await run.abandon(operation_id);
    throw new OperatorError('Interrupted. Nothing was sent.', run.interrupted());
  }
  // The operator confirms counts. With --yes there is nothing to confirm, and the counts come at the end.
  if (!yes) {
    const to_send = counts.taken - progress.taken;
    const sample = await sampleOf(operation.sample, session, operation_id);
    session.terminal.say(describePreview(counts, to_send, sample));
    if (to_send > 0 && !(await isConfirmed(operation, to_send, run, session))) return 0;
  }
  const begun = await run.begin(operation_id, rate);
  const done = await run.follow(begun, 'sent');
  const { matched, excluded } = done.progress;
  printResult(session, { replay_id: operation_id, matched, excluded, sent: run.sent() }, () =>
    counts.taken === 0 && !yes ? '' : describeReplay(done, run.sent()),
  );
  run.letters.say();
  if (done.status === 'done') return 0;
  const state = done.status === 'running' ? 'was interrupted' : `is ${done.status}`;
  throw new OperatorError(
    `${operation_id} ${state}: ${done.progress.taken} of ${counts.taken} are sent. ` +
      (done.status === 'cancelled' ? 'Somebody cancelled it.' : 'The same command, or the console, continues it.'),
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

/** Notifications that a preview shows. */
const SHOWN = 5;

/** The first few that a replay takes, as they are now, without those that it has taken already. */
async function sampleOf(
  log_ids: readonly string[],
  { rows, clock }: Session,
  operation_id?: string,
): Promise<NotificationView[]> {
  const found = await Promise.all(log_ids.slice(0, SHOWN).map((log_id) => rows.read(log_id)));
  return found
    .filter((row) => row !== undefined)
    .filter(({ replay_id }) => operation_id === undefined || replay_id !== operation_id)
    .map((row) => viewOf({ ...row }, clock()));
}

function describePreview(counts: Counts, to_send: number, sample: readonly NotificationView[]): string {
  const text = (name: string) => (row: NotificationView) => row[name] as string | undefined;
  const shown = table(sample, [
    ['for example', text('log_id')],
    ['tenant', text('tenant_id'), 'wide'],
    ['channel', text('channel')],
    ['priority', text('priority'), 'wide'],
    ['reason', text('failure_reason')],
    ['last error', text('error_type')],
  ]);
  return `${describeCounts(counts, to_send, 'to send')}${sample.length > 0 ? `\n${shown}` : ''}`;
}

function describeReplay({ operation_id, progress }: Operation, sent: number): string {
  const before = progress.taken - sent;
  const line = before > 0 ? `  ${String(before).padStart(7)}  sent before\n` : '';
  const left =
    progress.left_to_sweep > 0
      ? `SQS refused ${progress.left_to_sweep} of the messages; the next sweep sends them.\n`
      : '';
  return `${COLORS.bold(operation_id)}\n${describeCounts(progress, sent, 'sent')}${line}${left}`;
}

function describeCounts({ matched, excluded }: Counts, number: number, verb: string): string {
  const line = (count: number, what: string) => `  ${String(count).padStart(7)}  ${what}\n`;
  const reasons = Object.entries(excluded).map(([reason, count]) =>
    line(count, `${COLORS.dim('excluded:')} ${EXCLUSION_TEXTS[reason as Exclusion]}`),
  );
  return [line(matched, 'match'), ...reasons, line(number, COLORS.green(verb))].join('');
}
