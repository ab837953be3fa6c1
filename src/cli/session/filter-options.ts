import type { OperationFilter } from '../../application/contract/operations.ts';
import { recipientFilter } from '../../application/notifications.ts';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { ERROR_TYPES } from '../../core/model/error-types.ts';
import { isoBefore } from '../../core/model/time.ts';
import { ALWAYS, NONE, type Period, type SearchFilter } from '../../core/operator/search-filter.ts';
import { type Chosen, choice, value } from '../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../terminal/errors.ts';
import { parseId, parseMoment, parseRange } from '../../terminal/option-values.ts';
import type { Session } from './session.ts';

/** The default is short because a search of the history reads every notification of the period. */
const DEFAULT_PERIOD_MS = 24 * 3_600_000;

export const CHANNEL_OPTION = choice('only this channel', CHANNELS);

/** The options that filter notifications. They are the same for every command. */
export const FILTER_OPTIONS = {
  '--channel <C>': CHANNEL_OPTION,
  '--priority <P>': choice('only this priority', PRIORITIES),
  '--tenant <T>': value('only this tenant', parseId),
  '--error-type <E>': choice('last error, or reason for giving up', ERROR_TYPES),
  // These three are what the console's groups of dead letters are told apart by.
  '--failure-reason <E>': choice('reason for giving up alone', ERROR_TYPES),
  '--last-error <E>': choice(`last error alone; '${NONE}': without one`, [...ERROR_TYPES, NONE]),
  '--integration <ID>': value(`only this integration_config_id; '${NONE}': those without one`, parseId),
  '--recipient <R>':
    'only this recipient; "-" reads the address from stdin; without --tenant, list reads on until its page is full',
  '--from <TIME>': value('created at this time or later: a time, or how long ago (6h, 2d)', parseMoment),
  '--to <TIME>': value('created at this time or earlier', parseMoment),
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
  const { channel, priority, tenant, errorType, failureReason, lastError, integration } = options;
  const recipient_hash = await hashOf(options, session);
  return {
    ...(channel && { channel }),
    ...(priority && { priority }),
    ...(errorType && { error_type: errorType }),
    ...(failureReason && { failure_reason: failureReason }),
    ...(lastError && { last_error: lastError }),
    ...(recipient_hash && { recipient_hash }),
    ...(tenant && { tenant }),
    ...(integration && { integration }),
  };
}

/** The period between `--from` and `--to`; by default the last 24 hours. @throws OperatorError */
export function periodOf(
  { from, to }: Pick<FilterOptions, 'from' | 'to'>,
  now: Date,
  default_ms = DEFAULT_PERIOD_MS,
): Period {
  const end = to ?? now.toISOString();
  const begin = from ?? isoBefore(end, default_ms);
  if (begin > end) throw new OperatorError(`--from (${begin}) is later than --to (${end}): exchange them.`, EXIT_USAGE);
  return { from: begin, to: end };
}

async function hashOf({ recipient, tenant }: FilterOptions, session: Session): Promise<string | undefined> {
  if (recipient === undefined) return undefined;
  const address = recipient === '-' ? await session.terminal.readInput() : recipient;
  if (address === '')
    throw new OperatorError('--recipient is empty: give the address, or "-" and the address on stdin.', EXIT_USAGE);
  return recipientFilter({ tenant, recipient: address }, session.deployment);
}
