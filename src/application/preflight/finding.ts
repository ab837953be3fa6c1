import type { Ties } from '../../adapters/deployment/account-facts.ts';
import type { Brought } from '../../adapters/deployment/platform-facts.ts';
import type { Channel } from '../../core/model/channels.ts';
import type { Writing } from '../../core/newsletter/model/senders.ts';

/** What a stage takes, as its configuration says it. */
export interface Parts {
  readonly channels: readonly Channel[];
  readonly api: boolean;
  /** `data`: their tables, keys and secrets alone. */
  readonly newsletters: boolean | 'data';
  readonly outcomes: boolean;
  /** Whether there are alarms. */
  readonly monitoring: boolean;
  /** Whether the console is on the web. */
  readonly console: boolean;
}

/** The stage as its configuration has it. */
export interface Wanted extends Parts, Brought {
  readonly stage: string;
  /** As whom newsletters may be sent: addresses, and `*@domain`. */
  readonly newsletter_senders: readonly string[];
  /** Whether what goes is left behind. */
  readonly retain: boolean;
  /** The concurrency of the account for which it reserves some. */
  readonly account_limit?: number | undefined;
}

/** What the deployed stage holds. */
export interface Holdings extends Parts {
  /** Rows that are due, wait or are dead, and dead letters, by channel. */
  readonly work: Readonly<Partial<Record<Channel, number>>>;
  readonly writing: readonly Writing[];
  /** Something in a table of newsletters. */
  readonly mailings: boolean;
  /** An email that waits or is being sent, or a message of one. */
  readonly unfinished: boolean;
  /** One that is neither revoked nor expired. */
  readonly keys: boolean;
  /** Data keys of recipients. */
  readonly sealed: boolean;
  /** The team's, if all is encrypted with it. */
  readonly encryptionKeyArn?: string | undefined;
  /** Outcomes that the bus did not take within a day. */
  readonly untold: number;
  readonly ties: Ties;
}

export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'refused';
  /** One sentence. */
  readonly says: string;
  /** What to do about it. */
  readonly remedy?: string;
}

export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says });
export const warning = (check: string, says: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  says,
  remedy,
});
export const refused = (check: string, says: string, remedy: string): Finding => ({
  check,
  state: 'refused',
  says,
  remedy,
});
