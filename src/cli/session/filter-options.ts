import { CONDITIONS } from '../../application/contract/choices.ts';
import type { OperationFilter } from '../../application/contract/operations.ts';
import { recipientFilter } from '../../application/notifications.ts';
import { defined } from '../../core/model/collections.ts';
import { ALWAYS, type Period, periodOf, type SearchFilter } from '../../core/operator/search-filter.ts';
import { type Chosen, choice, value } from '../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../terminal/errors.ts';
import { parseId, parseMoment, parseRange } from '../../terminal/option-values.ts';
import type { Session } from './session.ts';

/** The default is short because a search of the history reads every notification of the period. */
const DEFAULT_PERIOD_MS = 24 * 3_600_000;

const C = CONDITIONS;
export const CHANNEL_OPTION = choice(C.channel.says, C.channel.values);

/** The options that filter notifications. They are the same for every command. */
export const FILTER_OPTIONS = {
  '--channel <C>': CHANNEL_OPTION,
  '--priority <P>': choice(C.priority.says, C.priority.values),
  '--tenant <T>': value(C.tenant.says, parseId),
  '--error-type <E>': choice(C.error_type.says, C.error_type.values),
  '--failure-reason <E>': choice(C.failure_reason.says, C.failure_reason.values),
  '--last-error <E>': choice(C.last_error.says, C.last_error.values),
  '--integration <ID>': value(C.integration.says, parseId),
  '--recipient <R>': 'only this recipient ("-": read the address from stdin); without --tenant, list is slow',
  '--from <TIME>': value(C.from.says, parseMoment),
  '--to <TIME>': value(C.to.says, parseMoment),
} as const;
export type FilterOptions = Chosen<typeof FILTER_OPTIONS>;

/** The other columns that his-notification-log-table.md has indexes for: scheduled_at, sent_at and send_attempts. */
export const LOOKUP_OPTIONS = {
  '--scheduled-from <TIME>': value('scheduled for this time or later', parseMoment),
  '--scheduled-to <TIME>': value('scheduled for this time or earlier', parseMoment),
  '--sent-from <TIME>': value('sent at this time or later', parseMoment),
  '--sent-to <TIME>': value('sent at this time or earlier', parseMoment),
  '--attempts <N>': value('number of attempts, such as 3, or a range such as 2-5', parseRange),
} as const;

export function lookupFilterOf(options: Chosen<typeof LOOKUP_OPTIONS>): SearchFilter {
  const { attempts } = options;
  const scheduled = openPeriod(options.scheduledFrom, options.scheduledTo);
  const sent = openPeriod(options.sentFrom, options.sentTo);
  return { ...(scheduled && { scheduled }), ...(sent && { sent }), ...(attempts && { send_attempts: attempts }) };
}

function openPeriod(from: string | undefined, to: string | undefined): Period | undefined {
  return from === undefined && to === undefined ? undefined : { from: from ?? ALWAYS.from, to: to ?? ALWAYS.to };
}

/** The filter without its period, in the words of the contract. The recipient leaves this function hashed or sealed. */
export async function filterOf(options: FilterOptions, session: Session): Promise<OperationFilter> {
  const { channel, priority, tenant, errorType: error_type, failureReason: failure_reason } = options;
  const { lastError: last_error, integration } = options;
  const recipient_hash = await hashOf(options, session);
  return defined({
    channel,
    priority,
    error_type,
    failure_reason,
    last_error,
    recipient_hash,
    tenant,
    integration,
  });
}

/** The period between `--from` and `--to`; by default the last 24 hours. @throws OperatorError */
export function periodIn(
  options: Pick<FilterOptions, 'from' | 'to'>,
  now: Date,
  default_ms = DEFAULT_PERIOD_MS,
): Period {
  const { from, to } = periodOf(options, now, default_ms);
  if (from <= to) return { from, to };
  throw new OperatorError(`--from (${from}) is later than --to (${to}): exchange them.`, EXIT_USAGE);
}

async function hashOf({ recipient, tenant }: FilterOptions, session: Session): Promise<string | undefined> {
  if (recipient === undefined) return undefined;
  const address = recipient === '-' ? await session.terminal.readInput() : recipient;
  if (address === '')
    throw new OperatorError('--recipient is empty: give the address, or "-" and the address on stdin.', EXIT_USAGE);
  return recipientFilter({ tenant, recipient: address }, session.deployment);
}
