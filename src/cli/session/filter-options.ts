import { type Command, Option } from 'commander';
import { recipientHash } from '../../adapters/signing/hashed-ids.ts';
import { CHANNELS, type Channel, PRIORITIES, type Priority } from '../../core/model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../../core/model/error-types.ts';
import { isoBefore } from '../../core/model/time.ts';
import { ALWAYS, NONE, type Period, type SearchFilter } from '../../core/operator/search-filter.ts';
import type { OperationFilter } from '../../operator-service/contract/operations.ts';
import { EXIT_USAGE, OperatorError } from '../../terminal/errors.ts';
import { parseId, parseMoment, parseRange } from '../../terminal/option-values.ts';
import type { Session } from './session.ts';

export interface FilterOptions {
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant?: string;
  readonly errorType?: ErrorType;
  /** These three are what the console's groups of dead letters are told apart by. */
  readonly failureReason?: ErrorType;
  readonly lastError?: ErrorType | typeof NONE;
  readonly integration?: string;
  readonly recipient?: string;
  readonly from?: string;
  readonly to?: string;
}

/** The default is short because a search of the history reads every notification of the period. */
const DEFAULT_PERIOD_MS = 24 * 3_600_000;

/** Adds the options that filter notifications. They are the same for every command. */
export function addFilterOptions(command: Command): Command {
  return command
    .addOption(channelOption())
    .addOption(new Option('--priority <P>', 'only this priority').choices(PRIORITIES))
    .option('--tenant <T>', 'only this tenant', parseId)
    .addOption(new Option('--error-type <E>', 'last error, or reason for giving up').choices(ERROR_TYPES))
    .addOption(new Option('--failure-reason <E>', 'reason for giving up alone').choices(ERROR_TYPES))
    .addOption(
      new Option('--last-error <E>', `last error alone; '${NONE}': without one`).choices([...ERROR_TYPES, NONE]),
    )
    .option('--integration <ID>', `only this integration_config_id; '${NONE}': those without one`, parseId)
    .option(
      '--recipient <R>',
      'only this recipient, found by the hash; "-" reads the address from stdin; needs --tenant',
    )
    .option('--from <TIME>', 'created at this time or later: a time, or how long ago (6h, 2d)', parseMoment)
    .option('--to <TIME>', 'created at this time or earlier', parseMoment);
}

export interface LookupOptions {
  readonly scheduledFrom?: string;
  readonly scheduledTo?: string;
  readonly sentFrom?: string;
  readonly sentTo?: string;
  readonly attempts?: SearchFilter['send_attempts'];
}

/** Adds the other columns that his-notification-log-table.md has indexes for: scheduled_at, sent_at and send_attempts. */
export function addLookupOptions(command: Command): Command {
  return command
    .option('--scheduled-from <TIME>', 'scheduled for this time or later', parseMoment)
    .option('--scheduled-to <TIME>', 'scheduled for this time or earlier', parseMoment)
    .option('--sent-from <TIME>', 'sent at this time or later', parseMoment)
    .option('--sent-to <TIME>', 'sent at this time or earlier', parseMoment)
    .option('--attempts <N>', 'number of attempts, such as 3, or a range such as 2-5', parseRange);
}

/** The conditions of addLookupOptions. */
export function lookupFilterOf(options: LookupOptions): SearchFilter {
  const { attempts } = options;
  const scheduled = openPeriod(options.scheduledFrom, options.scheduledTo);
  const sent = openPeriod(options.sentFrom, options.sentTo);
  return { ...(scheduled && { scheduled }), ...(sent && { sent }), ...(attempts && { send_attempts: attempts }) };
}

function openPeriod(from: string | undefined, to: string | undefined): Period | undefined {
  return from === undefined && to === undefined ? undefined : { from: from ?? ALWAYS.from, to: to ?? ALWAYS.to };
}

export function channelOption(): Option {
  return new Option('--channel <C>', 'only this channel').choices(CHANNELS);
}

/** The filter without its period, in the words of the contract. Only the hash of the recipient leaves this function. */
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
  if (tenant === undefined) {
    throw new OperatorError('--recipient needs --tenant: each tenant has hashes of its own.', EXIT_USAGE);
  }
  const address = recipient === '-' ? await session.terminal.readInput() : recipient;
  if (address === '')
    throw new OperatorError('--recipient is empty: give the address, or "-" and the address on stdin.', EXIT_USAGE);
  return recipientHash(await session.deployment.recipientHashKey(), tenant, address);
}
