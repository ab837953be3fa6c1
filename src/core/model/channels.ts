/** The channels a notification can take (design §2). Adding one means adding its name here, a sender and a classification table. */
export const CHANNELS = ['email', 'slack', 'teams', 'webhook'] as const;
export type Channel = (typeof CHANNELS)[number];

/** A channel's queue for a group of priorities, so that a flood of `info` never stands before an `urgent`. */
export const LANES = ['express', 'standard'] as const;
export type Lane = (typeof LANES)[number];

/** One value for each lane of each channel. */
export type PerLane<T> = Record<Channel, Record<Lane, T>>;
