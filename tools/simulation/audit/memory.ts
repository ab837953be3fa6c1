/** A row, or a retry record, as it is stored. */
export type Stored = Readonly<Record<string, unknown>>;

/**
 * What the provider took. `excused`: whoever sent it died, or was told that it had failed, before it could be noted;
 * `unrecorded`: storage refuses to note it, and may still take it.
 */
export interface Acceptance {
  readonly attempt: number;
  readonly by: string;
  readonly how: 'open' | 'recorded' | 'excused' | 'unrecorded';
  /** The cause of a duplicate, where they are counted. */
  readonly why?: string;
}

/** What the promises need of the past. */
export interface Memory {
  readonly accepted: Readonly<Record<string, readonly Acceptance[]>>;
  /** Claims, as `log_id#attempt`, that were made when an event had shown already that the notification had arrived. */
  readonly knownArrived: readonly string[];
  /** How often an operator sent a notification again. */
  readonly redriven: Readonly<Record<string, number>>;
  /** The attempts that had been claimed when the writer of a notification changed its recipient. */
  readonly corrected: Readonly<Record<string, number>>;
  /** Notifications whose recipient was changed before they were given up: a bounce of the former one is no end of them. */
  readonly renamed: readonly string[];
  /** The same, where it got another recipient: a correction may leave it. */
  readonly readdressed: Readonly<Record<string, number>>;
  /** Those whose writer has named another recipient for their fallback, too. */
  readonly elsewhere: readonly string[];
  /** Those that an operator has cancelled by a bulk operation, which takes successors, too. */
  readonly cancelled: readonly string[];
  /** The attempts that had been claimed when a notification was cancelled, or deleted by its writer. */
  readonly deleted: Readonly<Record<string, number>>;
  /** How often a writer has begun another life of a notification, and of a successor: that of its predecessor when made. */
  readonly lives: Readonly<Record<string, number>>;
  /** The greatest number of an attempt that was claimed, and not given back. */
  readonly numbered: Readonly<Record<string, number>>;
  /** Claims of successors, as `log_id#attempt`, that were made when nobody wanted them any more. */
  readonly unwanted: readonly string[];
  /** Notifications of which an operator was told that they are erased. */
  readonly erased: readonly string[];
  /** Notifications whose producer was told that they are accepted. */
  readonly handedOver: readonly string[];
  /** By worker and share of an allowance: the slots that it was given, and has not used. */
  readonly slots: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Attempts of dead notifications, as `log_id#attempt`, for which the provider was asked. */
  readonly tried: readonly string[];
  /** By worker: how often a table refused to note an outcome. */
  readonly refused: Readonly<Record<string, number>>;
}

export const NOTHING_YET: Memory = {
  accepted: {},
  knownArrived: [],
  redriven: {},
  corrected: {},
  renamed: [],
  readdressed: {},
  elsewhere: [],
  cancelled: [],
  deleted: {},
  lives: {},
  numbered: {},
  unwanted: [],
  erased: [],
  handedOver: [],
  slots: {},
  tried: [],
  refused: {},
};
