/** What the job reports for people (batch-sending-service-job.md, ログ出力). Ids and numbers only, no address. */
export interface JobLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What an operator has to look at (エラーログ). */
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Counts what operators are alarmed of. */
  count?(what: JobEvent): void;
}

/** `stalled`: a sender or a preparation died, or nobody took its work for long. */
export type JobEvent = 'failed' | 'count_off' | 'stalled';
