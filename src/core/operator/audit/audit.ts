import type { Clock } from '../../model/time.ts';

/** An action that is written down before it begins: its end is added when it is known. */
export interface AuditRecord {
  readonly audit_id: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly at: string;
  readonly who: string;
  readonly role: string;
  readonly what: string;
  /** The first few targets. */
  readonly on: readonly string[];
  readonly targets: number;
  readonly request_id: string;
  /** Counts by result; absent while it runs, and for ever if its process died. */
  readonly result?: Readonly<Record<string, number>>;
  /** Never an address or a credential. */
  readonly details?: string;
}

/** What is known of a request that came before. */
export interface KnownRequest {
  readonly begun_at: string;
  /** Tells a repetition from another request with the same id. */
  readonly fingerprint: string;
  /** JSON; absent: it has not ended. */
  readonly answer?: string;
}

interface AuditQuery {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  /** Place after which the page begins, as a page gave it. */
  readonly after?: AuditPlace;
  readonly fits: (record: AuditRecord) => boolean;
}

export interface AuditPlace {
  readonly day: string;
  readonly item: string;
}

/** How far back a reader looks who says no more: 7 days. */
export const AUDIT_PERIOD_MS = 7 * 86_400_000;

/** What a reader of the log may ask for; each absent field asks for all. */
export interface AuditFilter {
  readonly who?: string | undefined;
  readonly what?: string | undefined;
  /** One of the first few targets. */
  readonly target?: string | undefined;
}

export function fitsAudit({ who, what, target }: AuditFilter, record: AuditRecord): boolean {
  return (
    (who === undefined || record.who === who) &&
    (what === undefined || record.what === what) &&
    (target === undefined || record.on.includes(target))
  );
}

export interface AuditLog {
  /** Takes the request unless it is known. @returns what is known of it */
  begin(request_id: string, request: Omit<KnownRequest, 'answer'>): Promise<KnownRequest | undefined>;
  /** Keeps the answer for the repetitions of the request. */
  answer(request_id: string, answer: string): Promise<void>;
  /** Lets the request that began then be sent again under its id: it was refused. One that another took over stays. */
  release(request_id: string, begun_at: string): Promise<void>;
  /** Takes over a request that nobody ended. False when another one was faster. */
  takeOver(request_id: string, was: KnownRequest, begun_at: string): Promise<boolean>;
  /** Writes the record, or writes it again with its result. */
  write(record: AuditRecord): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<{ readonly records: readonly AuditRecord[]; readonly next?: AuditPlace }>;
}

export interface AuditDeps {
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes each record, begun and ended, for the log. */
  readonly onRecord: (record: AuditRecord) => void;
  /** Takes why the result or the answer of what took effect could not be written. */
  readonly onUnwritten: (error: unknown) => void;
}
