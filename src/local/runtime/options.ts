import { parseArgs } from 'node:util';
import { isPageOrigin, PAGE_ORIGIN_RULE } from '../../adapters/api/page-cors.ts';
import { ExplainedError } from '../../core/model/problem.ts';
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

/** An invalid command line; exit code 2. */
export class UsageError extends ExplainedError {
  override readonly name = 'UsageError';
  override readonly exitCode = 2;
}

export const USAGE = `Usage: npm run local -- [--empty] [--data DIR] [--base-interval SECONDS] [--schedule EXPR|off] [--port N]
                           [--parts NAME] [--ses-rate N] [--ses-quota N] [--cors-origin ORIGIN]

  --empty                  no sample data, no first run
  --data DIR               keep tables, queues and keys in DIR, so that they survive a restart
  --base-interval SECONDS  unit of backoff: the first retry comes after one to two of these (default: the stack's, 300)
  --schedule EXPR|off      when to sweep instead of the stack's schedule: "rate(1 minute)", "cron(30 * * * ? *)", or off
  --parts NAME             everything (the default), default, without-newsletters or least: what the stage takes
  --ses-rate N             e-mails a second that the local SES takes (default: 500)
  --ses-quota N            e-mails in 24 hours that the local SES takes (default: 1000000)
  --cors-origin ORIGIN     web pages of this origin may call the API; may be given several times
  --port N                 port of the API and the status page (default: any free one)
`;

/** @throws UsageError that names the flag and what would be right */
export function parseCommand(args: readonly string[]): LocalCommand {
  const { values } = read(args);
  const { 'ses-rate': sesRate, 'ses-quota': sesQuota } = values;
  return {
    empty: values.empty ?? false,
    help: values.help ?? false,
    ...(values.data === undefined ? {} : { dataDir: directory(values.data) }),
    ...(values['base-interval'] === undefined ? {} : { baseIntervalSeconds: interval(values['base-interval']) }),
    ...(values.schedule === undefined ? {} : { schedule: schedule(values.schedule) }),
    ...(values.parts === undefined ? {} : { parts: parts(values.parts) }),
    ...(sesRate === undefined && sesQuota === undefined
      ? {}
      : {
          sesLimits: {
            ...(sesRate !== undefined && { per_second: limit('--ses-rate', sesRate) }),
            ...(sesQuota !== undefined && { per_day: limit('--ses-quota', sesQuota) }),
          },
        }),
    ...(values['cors-origin'] === undefined ? {} : { corsOrigins: values['cors-origin'].map(origin) }),
    ...(values.port === undefined ? {} : { port: port(values.port) }),
  };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        empty: { type: 'boolean' },
        data: { type: 'string' },
        'base-interval': { type: 'string' },
        schedule: { type: 'string' },
        parts: { type: 'string' },
        port: { type: 'string' },
        'ses-rate': { type: 'string' },
        'ses-quota': { type: 'string' },
        'cors-origin': { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

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

function limit(flag: string, text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 1_000_000_000) {
    throw new UsageError(`${flag} must be a whole number from 1 to 1000000000, but is ${JSON.stringify(text)}`);
  }
  return count;
}

function origin(text: string): string {
  if (!isPageOrigin(text)) throw new UsageError(`--cors-origin ${PAGE_ORIGIN_RULE}, but is ${JSON.stringify(text)}`);
  return text;
}

function port(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`--port must be a port number from 0 to 65535, but is ${JSON.stringify(text)}`);
  }
  return Number(text);
}
