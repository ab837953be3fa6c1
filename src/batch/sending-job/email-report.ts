import { shellCommand } from '../../application/contract/choices.ts';
import { type EmailAccess, showEmail } from '../../application/emails/emails.ts';
import type { EmailView, Waits } from '../../core/newsletter/views/email-view.ts';
import { COLORS, printableValue } from '../../terminal/printable.ts';
import type { Progress } from '../../terminal/progress.ts';
import { fields } from '../../terminal/table.ts';

/** An id of 36 places, the phase and the bar have room in 80 columns. */
const BAR_WIDTH = 20;

const WAITS_FOR: Readonly<Record<Waits['for'], string>> = {
  retry: 'for a retry: SES refused for the time being',
  silence: 'for an answer: SES answers no call, and one small call at a time tries it',
  window: 'for its turn in the delivery window',
  allowance: 'for what SES allows to send',
  account: 'for SES to resume sending',
  sender: 'for its sender to be verified',
  settings: 'for a setting or a right',
  refused: 'for SES to accept anybody: it refuses all for the same reason',
};
const number = (count: number) => count.toLocaleString('en');

/** An email for people: phase, a bar, rate and expected end, and why recipients were not sent. */
export function describeEmail(view: EmailView, local: boolean): string {
  const { counts, rate, batches } = view;
  const entries: [string, string | undefined][] = [
    ['recipients', recipientsLine(view)],
    ['excluded', byReason(view.excluded_by_reason)],
    ['failed', byReason(view.failed_by_reason)],
    ['events', eventsLine(view)],
    [
      'batches',
      `${batches.submitted} submitted, ${batches.submitting} submitting, ${batches.pending} pending, ${batches.failed} failed`,
    ],
    [
      'rate',
      `${rate.now === null ? `${rate.allowed ?? '–'} per second` : `${rate.now} per second now, ${rate.allowed ?? '–'}`} allowed${loweredNote(rate)}`,
    ],
    ['waits', view.waits && `${WAITS_FOR[view.waits.for]}, until ${view.waits.until}`],
    ['asks again', view.waits?.asks_at],
    ['expected end', view.eta],
    ['scheduled', view.scheduled_at],
    ['submitted', view.submitted_at],
  ];
  const shown = entries.filter(([, value]) => value);
  const held = view.held?.message ?? view.waits?.message;
  const why = view.error ?? (held && `It holds. ${held}`);
  const error = why === undefined ? '' : `\n  ${COLORS.red(printableValue(why))}\n`;
  const next =
    counts.uncertain > view.uncertain_left
      ? `\n  Nobody knows whether the uncertain recipients got the mail: ${shellCommand('emails resolve', local, ['--resend'], [view.email_id])}, or with --leave\n`
      : '';
  const title = view.subject === undefined ? '' : `  ${printableValue(view.subject)}\n`;
  return `${COLORS.bold(view.email_id)}  ${paint(view)}  ${progressBar(view)}\n${title}${fields(shown)}${error}${next}`;
}

const doneOf = ({ counts }: EmailView): number => counts.recipients - counts.pending;

function progressBar(view: EmailView): string {
  const { recipients } = view.counts;
  if (recipients === 0) return '';
  const share = doneOf(view) / recipients;
  const full = Math.floor(share * BAR_WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${Math.floor(share * 100)} %`;
}

function recipientsLine({ counts, email_count }: EmailView): string {
  if (counts.recipients === 0) return email_count === null ? 'not counted yet' : `${number(email_count)}`;
  const { recipients, pending, submitted, excluded, failed, uncertain } = counts;
  const states = { submitted, pending, excluded, failed, uncertain };
  return `${number(recipients)}: ${Object.entries(states)
    .map(([name, count]) => `${number(count)} ${name}`)
    .join(', ')}`;
}

function eventsLine({ counts }: EmailView): string {
  const { delivered, opened, machine_opened, clicked, bounced, soft_bounced, complained, unsubscribed } = counts;
  const told = {
    delivered,
    opened,
    'opened by machines': machine_opened,
    clicked,
    bounced,
    'bounced for now': soft_bounced,
    complained,
    unsubscribed,
  };
  return Object.entries(told)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${number(count)} ${name}`)
    .join(', ');
}

function byReason(reasons: Readonly<Record<string, number>>): string {
  return Object.entries(reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${number(count)} ${reason}`)
    .join(', ');
}

/** An e-mail that is over is good only where everybody got it, or an operator decided about the others. */
function paint({ phase, counts, uncertain_left }: EmailView): string {
  const isGood = counts.failed === 0 && counts.uncertain <= uncertain_left;
  if (phase === 'submitted') return isGood ? COLORS.green(phase) : COLORS.yellow(phase);
  if (phase === 'failed' || phase === 'cancelled') return COLORS.red(phase);
  return phase === 'paused' || phase === 'waiting' ? COLORS.yellow(phase) : COLORS.cyan(phase);
}

/** The rate now is the last minute's, and a refusal lowers what is allowed at once: faster than allowed is no error. */
function loweredNote({ now, allowed }: EmailView['rate']): string {
  const faster = now !== null && allowed !== null && now > ABOVE * allowed;
  return faster ? ' (lowered by a refusal)' : '';
}

/** More than the 300 ms of unused slots that a budget keeps can add in a minute. */
const ABOVE = 1.02;

/** One that is over changes no more by itself. */
export function isOver({ status: of }: EmailView): boolean {
  return of === 'submitted' || of === 'failed' || of === 'cancelled';
}

/** Rate, expected end and faults on one line, for progress. */
function summaryOf({ rate, eta, counts }: EmailView): string {
  const parts = [
    rate.now === null ? undefined : `${rate.now}/s${rate.allowed === null ? '' : ` of ${rate.allowed}/s`}`,
    eta === undefined ? undefined : `until ${eta.slice(11, 19)} UTC`,
    counts.failed > 0 ? `${counts.failed} failed` : undefined,
    counts.uncertain > 0 ? `${counts.uncertain} uncertain` : undefined,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

const LOOK_EVERY_MS = 2_000;

export async function followEmail(
  email_id: string,
  access: EmailAccess,
  progress: Progress,
  pause: (ms: number) => Promise<void>,
): Promise<EmailView> {
  for (;;) {
    const { view } = await showEmail(email_id, access);
    if (isOver(view)) return view;
    const total = view.counts.recipients || undefined;
    progress.update({ verb: view.phase, done: doneOf(view), total, summary: summaryOf(view) });
    await pause(LOOK_EVERY_MS);
  }
}
