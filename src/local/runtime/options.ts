import { isPageOrigin, PAGE_ORIGIN_RULE } from '../../application/contract/api/page-cors.ts';
import { read, UsageError, whole } from '../../terminal/command-line.ts';
import { parseSchedule } from '../emulator/events/schedule.ts';
import type { LocalRuntimeOptions } from './runtime.ts';
import { LOCAL_PARTS, type LocalParts } from './synthesize.ts';

export interface LocalCommand
  extends Pick<
    LocalRuntimeOptions,
    'parts' | 'dataDir' | 'baseIntervalSeconds' | 'schedule' | 'port' | 'sesLimits' | 'corsOrigins'
  > {
  /** No sample data and no first run. */
  readonly empty: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run local -- [options]

  --empty                  no sample data, no first run
  --data DIR               keep tables, queues and keys in DIR across restarts
  --base-interval SECONDS  unit of backoff: the first retry comes after one to
                           two of these (default: the stack's, 300)
  --schedule EXPR|off      when to sweep instead of the stack's schedule:
                           "rate(1 minute)", "cron(30 * * * ? *)", or off
  --parts NAME             what the stage takes: everything (the default),
                           default, without-newsletters or least
  --ses-rate N             e-mails a second that the local SES takes (default: 500)
  --ses-quota N            e-mails in 24 hours that the local SES takes (default: 1000000)
  --cors-origin ORIGIN     web pages of this origin may call the API; may be
                           given several times
  --port N                 port of the API and its pages (default: a free one)
`;

const text = { type: 'string' } as const;
const OPTIONS = {
  empty: { type: 'boolean', default: false },
  data: text,
  'base-interval': text,
  schedule: text,
  parts: text,
  port: text,
  'ses-rate': text,
  'ses-quota': text,
  'cors-origin': { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** @throws UsageError that names the flag and what would be right */
export function parseCommand(args: readonly string[]): LocalCommand {
  const values = read(args, OPTIONS);
  const { 'ses-rate': rate, 'ses-quota': quota, 'base-interval': base, 'cors-origin': origins } = values;
  const sesLimits = {
    ...(rate !== undefined && { per_second: whole('--ses-rate', rate, 1, MOST_MAILS) }),
    ...(quota !== undefined && { per_day: whole('--ses-quota', quota, 1, MOST_MAILS) }),
  };
  return {
    empty: values.empty,
    help: values.help,
    ...(values.data !== undefined && { dataDir: directory(values.data) }),
    ...(base !== undefined && { baseIntervalSeconds: interval(base) }),
    ...(values.schedule !== undefined && { schedule: schedule(values.schedule) }),
    ...(values.parts !== undefined && { parts: parts(values.parts) }),
    ...(Object.keys(sesLimits).length > 0 && { sesLimits }),
    ...(origins !== undefined && { corsOrigins: origins.map(origin) }),
    ...(values.port !== undefined && { port: whole('--port', values.port, 0, 65_535) }),
  };
}

const MOST_MAILS = 1_000_000_000;

function directory(text: string): string {
  if (text === '') throw new UsageError('--data needs a directory');
  return text;
}

function interval(text: string): number {
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds >= 0.001 && seconds <= 86_400)) {
    throw new UsageError(
      `--base-interval must be a number of seconds from 0.001 to 86400, but is ${JSON.stringify(text)}`,
    );
  }
  return seconds;
}

function schedule(text: string): string {
  if (text === 'off') return text;
  try {
    parseSchedule(text);
    return text;
  } catch (error) {
    throw new UsageError(`--schedule: ${error instanceof Error ? error.message : String(error)}; or write off`);
  }
}

function parts(text: string): LocalParts {
  const known = Object.keys(LOCAL_PARTS) as LocalParts[];
  const found = known.find((name) => name === text);
  if (found === undefined)
    throw new UsageError(`--parts must be one of ${known.join(', ')}, but is ${JSON.stringify(text)}`);
  return found;
}

function origin(text: string): string {
  if (!isPageOrigin(text)) throw new UsageError(`--cors-origin ${PAGE_ORIGIN_RULE}, but is ${JSON.stringify(text)}`);
  return text;
}
