import { parseArgs } from 'node:util';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { defined } from '../../core/model/collections.ts';
import type { SweepRequest } from '../../core/sweep/sweep-run.ts';
import { EXIT_USAGE, OperatorError, SEE_HELP } from '../../terminal/errors.ts';

export interface RetryJobOptions {
  readonly request: SweepRequest;
  readonly wait: boolean;
  readonly json: boolean;
  readonly local: boolean;
}

export const USAGE = `Usage: npm run batch:notification-retry -- [options]

Finds the notifications that are due for a retry and sends them to their lanes
(BATCH-952).

  --channel=C            only this channel: ${CHANNELS.join(', ')}
  --priority=P           only this priority: ${PRIORITIES.join(', ')}
  --tenant=T             only this tenant
  --limit=N              at most N notifications
  --max-retry-count=N    replaces the limit of retries of the row or priority;
                         what has used up N retries is given up: MAX_RETRIES
  --force-retry          ignores limit and deadline, and includes dead
                         notifications: one attempt each
  --dry-run              only counts; writes and sends nothing
  --list                 with --dry-run: names each target, and what would happen
                         to it; 1,000 of them, or --limit, 10,000 at most
  --wait                 waits for the outcomes and counts them by final status
  --json                 prints one JSON object on stdout
  --local                uses the running local runtime instead of AWS
  --help

An option without a value also takes one: --dry-run=true, --dry-run=false.

Examples:
  npm run batch:notification-retry -- --dry-run --list
  npm run batch:notification-retry -- --channel=email --priority=urgent --wait
`;

const FLAGS = {
  'max-retry-count': { type: 'string' },
  channel: { type: 'string' },
  priority: { type: 'string' },
  tenant: { type: 'string' },
  limit: { type: 'string' },
  'dry-run': { type: 'boolean' },
  list: { type: 'boolean' },
  'force-retry': { type: 'boolean' },
  wait: { type: 'boolean' },
  json: { type: 'boolean' },
  local: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const TRUTHS = ['true', 'false'];

/**
 * Reads the arguments of the job (batch-952-notification-retry.md §7).
 * @returns 'help' if the arguments ask for it.
 * @throws OperatorError that names every unknown option and wrong value.
 */
export function parseRetryJobOptions(args: readonly string[]): RetryJobOptions | 'help' {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: FLAGS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const faults: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') faults.push(`${token.value}: not an option`);
    if (token.kind !== 'option') continue;
    if (!Object.hasOwn(FLAGS, token.name)) faults.push(`${token.rawName}: unknown option`);
    else if (FLAGS[token.name as keyof typeof FLAGS].type === 'boolean') {
      // The document gives false as a value (batch-952-notification-retry.md §7).
      if (!TRUTHS.includes(token.value ?? 'true'))
        faults.push(`${token.rawName}=${token.value}: must be true or false`);
    }
  }
  const isOn = (name: keyof typeof FLAGS) => values[name] === true || values[name] === 'true';
  if (isOn('help')) return 'help';
  const given = (name: keyof typeof FLAGS) => (name in values && typeof values[name] !== 'string' ? '' : values[name]);
  const options = {
    max_retry_count: wholeNumber('max-retry-count', given('max-retry-count'), 0, faults),
    channel: oneOf('channel', given('channel'), CHANNELS, faults),
    priority: oneOf('priority', given('priority'), PRIORITIES, faults),
    tenant: nonEmpty('tenant', given('tenant'), faults),
    limit: wholeNumber('limit', given('limit'), 1, faults),
    dry_run: isOn('dry-run') || undefined,
    list: isOn('list') || undefined,
    force_retry: isOn('force-retry') || undefined,
  };
  if (options.list && !options.dry_run) faults.push('--list: needs --dry-run, which alone names its targets');
  if (faults.length > 0) throw new OperatorError(`${faults.join('\n')}\n${SEE_HELP}`, EXIT_USAGE);
  return { request: defined(options), wait: isOn('wait'), json: isOn('json'), local: isOn('local') };
}

type Value = string | boolean | undefined;

function wholeNumber(flag: string, value: Value, least: number, faults: string[]): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least) return number;
  faults.push(`--${flag}=${value}: must be a whole number, ${least} or more`);
  return undefined;
}

function oneOf<T extends string>(flag: string, value: Value, allowed: readonly T[], faults: string[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) faults.push(`--${flag}=${value}: must be one of ${allowed.join(', ')}`);
  return found;
}

function nonEmpty(flag: string, value: Value, faults: string[]): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value.length > 0 && [...value].length <= 50) return value;
  faults.push(`--${flag}=${value}: must be a tenant's id of 1 to 50 characters`);
  return undefined;
}
