import type { Context } from 'aws-lambda';

const LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR', 'SILENT'] as const;
type Level = (typeof LEVELS)[number];

/** What a line says beside its message. The names of the line itself are not for fields. */
export type LogFields = Readonly<Record<string, unknown>> & {
  readonly [name in 'level' | 'message' | 'timestamp' | 'service']?: never;
};

/** Where lines go: stdout, which Lambda gives to CloudWatch. */
export type WriteLine = (line: string) => void;
export const toStdout: WriteLine = (line) => void process.stdout.write(`${line}\n`);

/**
 * Writes lines of JSON with the names of Powertools for AWS Lambda, which would be a tenth of a function's code and of
 * its cold start (docs/decisions/measured/cold-start-and-bundles.md#0127).
 */
export class Logger {
  readonly #least: number;
  readonly #write: WriteLine;
  readonly #service = process.env['POWERTOOLS_SERVICE_NAME'];
  #persistent: LogFields = {};
  #invocation: LogFields = {};
  #isCold = true;

  /** @param options.logLevel by default that of the environment */
  constructor({ logLevel, write = toStdout }: { readonly logLevel?: Level; readonly write?: WriteLine } = {}) {
    const wanted = logLevel ?? process.env['POWERTOOLS_LOG_LEVEL'];
    this.#least = LEVELS.findIndex((level) => level === (wanted ?? 'INFO'));
    this.#write = write;
  }

  /** Adds to every line from now on. */
  appendPersistentKeys(fields: LogFields): void {
    this.#persistent = { ...this.#persistent, ...fields };
  }

  /** Adds the ids of an invocation to its lines. */
  addContext({ invokedFunctionArn, memoryLimitInMB, functionName, awsRequestId }: Context): void {
    this.#invocation = {
      cold_start: this.#isCold,
      function_arn: invokedFunctionArn,
      function_memory_size: memoryLimitInMB,
      function_name: functionName,
      function_request_id: awsRequestId,
      xray_trace_id: /Root=([^;]+)/.exec(process.env['_X_AMZN_TRACE_ID'] ?? '')?.[1],
    };
    this.#isCold = false;
  }

  info(message: string, fields?: LogFields): void {
    this.#log('INFO', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#log('WARN', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#log('ERROR', message, fields);
  }

  #log(level: Level, message: string, fields: LogFields = {}): void {
    if (LEVELS.indexOf(level) < this.#least) return;
    const line: Record<string, unknown> = { level, message, timestamp: new Date(), service: this.#service };
    for (const more of [this.#invocation, this.#persistent, fields]) {
      for (const name in more) if (!OF_THE_LINE.has(name) && !isEmpty(more[name])) line[name] = more[name];
    }
    this.#write(JSON.stringify(line, replacer()));
  }
}

const OF_THE_LINE = new Set(['level', 'message', 'timestamp', 'service']);

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

/** JSON has neither errors nor large integers. A value within itself is left out: no line may fail. */
function replacer() {
  const path: { readonly holder: unknown; readonly source: unknown }[] = [];
  return function (this: unknown, _name: string, source: unknown): unknown {
    if (typeof source === 'bigint') return String(source);
    if (typeof source !== 'object' || source === null) return source;
    while (path.length > 0 && path.at(-1)?.holder !== this) path.pop();
    if (path.some((above) => above.source === source)) return undefined;
    const holder = source instanceof Error ? plain(source) : source;
    path.push({ holder, source });
    return holder;
  };
}

function plain(error: Error): object {
  const { name, message, stack, cause } = error;
  return { ...error, name, message, stack, cause };
}
