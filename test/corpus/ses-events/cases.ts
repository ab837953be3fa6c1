import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/local/support/json.ts';

/** The part of an event of SES that is its own, and what it tells. */
export interface SesEventCase {
  readonly name: string;
  readonly event: string;
  /** Key and value in `detail`. */
  readonly part: string;
  readonly content: JsonObject;
  /** Of an accepted notification; null: no rule takes it. */
  readonly retry: {
    /** It changes nothing. */
    readonly nothing?: true;
    /** The evidence of the attempt. */
    readonly shows?: 'delivered' | 'seen' | 'bounced' | 'soft_bounced';
    readonly opened?: true;
    readonly complained?: true;
    readonly suppressed?: true;
    /** The reason, or the error type after which it is retried. */
    readonly gives_up?: string;
    readonly retries?: string;
  } | null;
  /** Of a recipient of a newsletter; null: no rule takes it. */
  readonly newsletter: {
    readonly bits: readonly string[];
    readonly suppressed?: 'bounced' | 'complained';
    /** Nothing was sent: the reason. */
    readonly failed?: string;
  } | null;
  readonly source: string;
}

/** A case per line: every documented type and sub-type, and what is not documented. */
export const SES_EVENTS: readonly SesEventCase[] = readFileSync(join(import.meta.dirname, 'cases.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
