import { type Command, Option } from 'commander';
import { recipientHash } from '../../adapters/recipient/recipient-hash.ts';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../../core/model/error-types.ts';
import { PRIORITIES, type Priority } from '../../core/model/priorities.ts';
import type { Period, SearchFilter } from '../../core/operator/search-filter.ts';
import { MISUSED, OperatorError } from '../../terminal/errors.ts';
import { id, time } from '../../terminal/option-values.ts';
import type { Session } from './session.ts';

export interface FilterOptions {
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant?: string;
  readonly errorType?: ErrorType;
  readonly recipient?: string;
  readonly from?: string;
  readonly to?: string;
}

/** How far back is looked where nothing says otherwise: a lookup of the history reads all that was created. */
const DEFAULT_PERIOD_MS = 24 * 3_600_000;

/** The options by which notifications are looked for, the same for every command. */
export function addFilterOptions(command: Command): Command {
  return command
    .addOption(channelOption())
    .addOption(new Option('--priority <P>', 'only this priority').choices(PRIORITIES))
    .option('--tenant <T>', 'only this tenant', id)
    .addOption(new Option('--error-type <E>', 'last error, or reason it was given up for').choices(ERROR_TYPES))
    .option('--recipient <R>', 'only this recipient, found by its hash; "-" reads it from stdin; needs --tenant')
    .option('--from <TIME>', 'created then or later: a time, or how long ago (6h, 2d)', time)
    .option('--to <TIME>', 'created then or earlier', time);
}

export function channelOption(): Option {
  return new Option('--channel <C>', 'only this channel').choices(CHANNELS);
}

/** The filter without its period. The recipient is hashed here and goes no further. */
export async function filterOf(options: FilterOptions, session: Session): Promise<SearchFilter> {
  const { channel, priority, tenant, errorType } = options;
  const recipient_hash = await hashOf(options, session);
  return {
    ...(channel && { channel }),
    ...(priority && { priority }),
    ...(tenant && { tenant_id: tenant }),
    ...(errorType && { error_type: errorType }),
    ...(recipient_hash && { recipient_hash }),
  };
}

/** What `--from` and `--to` say; by default the last 24 hours. */
export function periodOf({ from, to }: FilterOptions, now: Date): Period {
  const end = to ?? now.toISOString();
  const begin = from ?? new Date(Date.parse(end) - DEFAULT_PERIOD_MS).toISOString();
  if (begin > end) throw new OperatorError(`--from (${begin}) is later than --to (${end}): exchange them.`, MISUSED);
  return { from: begin, to: end };
}

async function hashOf({ recipient, tenant }: FilterOptions, session: Session): Promise<string | undefined> {
  if (recipient === undefined) return undefined;
  if (tenant === undefined) {
    throw new OperatorError('--recipient needs --tenant: hashes differ from tenant to tenant.', MISUSED);
  }
  const address = recipient === '-' ? await session.terminal.readInput() : recipient;
  if (address === '') throw new OperatorError('--recipient is empty: give the address, or "-" and stdin.', MISUSED);
  return recipientHash(await session.deployment.recipientHashKey(), tenant, address);
}
