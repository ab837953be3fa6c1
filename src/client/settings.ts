import { dirname, join, resolve } from 'node:path';
import { isSameFile } from '../processes/same-file.ts';
import { apiUrlFault } from './handover/api-url.ts';
import type { GivenUp, SpoolSize } from './spool/flush.ts';
import { type SpoolKey, spoolKey } from './spool/seal.ts';

/** An option that is not given has the value of its environment variable, or the default. */
export interface ClientOptions {
  /** URL of the API, without `/v1`; NOTIFICATION_API_URL. */
  readonly url?: string | undefined;
  /** A key with the scope send, `nrk_…`; NOTIFICATION_API_KEY. */
  readonly apiKey?: string | undefined;
  /** NOTIFICATION_SPOOL_DIRECTORY, or `data/spool`. */
  readonly spoolDirectory?: string | undefined;
  /** NOTIFICATION_FAILED_DIRECTORY, or `failed` beside the spool directory. No other client may use it. */
  readonly failedDirectory?: string | undefined;
  /**
   * 32 bytes in base64 or hexadecimal; NOTIFICATION_SPOOL_KEY (several separated by commas). Without a key the spool is
   * not encrypted. The first of several keys encrypts; all of them decrypt.
   */
  readonly spoolKey?: string | readonly string[] | undefined;
  /** Failed flushes before a file is given up: 1 to 10,000; MAX_SPOOL_RETRIES, or 10. */
  readonly maxSpoolRetries?: number | undefined;
  /** Hours from the first attempt until a file is given up; SPOOL_RETENTION_HOURS, or 168. */
  readonly spoolRetentionHours?: number | undefined;
  /** Milliseconds in which the API must answer, 1 to 600,000; 10,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** Concurrent batches of `sendBatch`, 1 to 100; 2 by default (batch-sending-service-job.md). */
  readonly concurrency?: number | undefined;
  /**
   * Called once per file that is given up, and again at each flush if it rejects. By default writes one line to stderr.
   */
  readonly onGivenUp?: ((given: GivenUp) => void | Promise<void>) | undefined;
  /**
   * Called after a flush that leaves more than 70 files or 700 MB in the spool (adr-006-spool-retention.md). By default
   * writes one line to stderr. Nothing bounds the spool: the disk must have room.
   */
  readonly onLargeSpool?: ((size: SpoolSize) => void) | undefined;
}

/** @internal */
export interface SpoolSettings {
  readonly spoolDirectory: string;
  readonly failedDirectory: string;
  readonly keys: readonly SpoolKey[];
}

/** @internal */
export interface Settings extends SpoolSettings {
  readonly url: string;
  readonly apiKey: string;
  readonly maxRetries: number;
  readonly retentionMs: number;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly onGivenUp: (given: GivenUp) => void | Promise<void>;
  readonly onLargeSpool: (size: SpoolSize) => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws TypeError that names each wrong setting, and shows no key. @internal */
export function settingsOf(options: ClientOptions, env: Environment): Settings {
  const faults: string[] = [];
  const url = options.url ?? env['NOTIFICATION_API_URL'] ?? '';
  const urlFault = apiUrlFault(url);
  if (urlFault !== undefined) faults.push(`url (NOTIFICATION_API_URL) ${urlFault}`);
  const apiKey = options.apiKey ?? env['NOTIFICATION_API_KEY'] ?? '';
  if (!/^[!-~]+$/.test(apiKey)) faults.push('apiKey (NOTIFICATION_API_KEY) must be a key such as nrk_…');
  const numberIn = (variable: string) => (env[variable] ? Number(env[variable]) : undefined);
  const whole = (value: number, name: string, most: number) => {
    if (!(Number.isInteger(value) && value >= 1 && value <= most)) {
      faults.push(`${name} must be a whole number, 1 to ${most.toLocaleString('en')}`);
    }
    return value;
  };
  const maxRetries = whole(
    options.maxSpoolRetries ?? numberIn('MAX_SPOOL_RETRIES') ?? 10,
    'maxSpoolRetries (MAX_SPOOL_RETRIES)',
    10_000,
  );
  const hours = options.spoolRetentionHours ?? numberIn('SPOOL_RETENTION_HOURS') ?? 168;
  if (!(hours > 0)) faults.push('spoolRetentionHours (SPOOL_RETENTION_HOURS) must be a number above 0');
  // Timers of Node take whole milliseconds, and have a maximum.
  const timeoutMs = whole(options.timeoutMs ?? 10_000, 'timeoutMs', 600_000);
  const concurrency = whole(options.concurrency ?? 2, 'concurrency', 100);
  const spool = collect(() => spoolSettingsOf(options, env), faults);
  if (faults.length > 0 || spool === undefined) {
    throw new TypeError(`The notification client cannot be created: ${faults.join('; ')}.`);
  }
  const { onGivenUp = warn, onLargeSpool = warnOfSize } = options;
  return {
    ...spool,
    url,
    apiKey,
    maxRetries,
    retentionMs: hours * 3_600_000,
    timeoutMs,
    concurrency,
    onGivenUp,
    onLargeSpool,
  };
}

/** The settings of the spool alone, for commands that do not call the API. @throws TypeError @internal */
export function spoolSettingsOf(options: ClientOptions, env: Environment): SpoolSettings {
  const directory = resolve(options.spoolDirectory ?? (env['NOTIFICATION_SPOOL_DIRECTORY'] || join('data', 'spool')));
  const failed =
    options.failedDirectory ?? (env['NOTIFICATION_FAILED_DIRECTORY'] || join(dirname(directory), 'failed'));
  if (isSameFile(directory, failed)) {
    // Whatever is given up would be taken for a copy of what waits, and removed.
    throw new TypeError(
      `failedDirectory (NOTIFICATION_FAILED_DIRECTORY) and spoolDirectory must be different directories: ${directory}`,
    );
  }
  const { spoolKey: given = env['NOTIFICATION_SPOOL_KEY']?.split(',') } = options;
  const texts = typeof given === 'string' ? [given] : (given ?? []);
  return {
    spoolDirectory: directory,
    failedDirectory: resolve(failed),
    keys: texts.filter((text) => text !== '').map((text) => spoolKey(text.trim())),
  };
}

function collect<T>(read: () => T, faults: string[]): T | undefined {
  try {
    return read();
  } catch (error) {
    faults.push((error as Error).message.replace(/\.$/, ''));
    return undefined;
  }
}

function warnOfSize(size: SpoolSize): void {
  console.warn(JSON.stringify({ level: 'WARN', message: 'spool is larger than expected', ...size }));
}

function warn(given: GivenUp): void {
  console.warn(JSON.stringify({ level: 'WARN', message: 'spool file given up', ...given }));
}

/** The origins that were warned of, so that each is named once per process. */
const warned = new Set<string>();

/** Warns once of an API that is reached without encryption beyond this machine: anyone on the way could read it. */
export function warnOfPlainHttp(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol !== 'http:' || LOOPBACK.test(hostname) || warned.has(origin)) return;
  warned.add(origin);
  process.emitWarning(
    `The notification client sends its API key and all content to ${origin} without encryption: use https.`,
    { code: 'NOTIFICATION_CLIENT_PLAIN_HTTP' },
  );
}

/** The URL parser has turned every form of an address into this one. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
