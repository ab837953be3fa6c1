import { entryOf } from './text.ts';

/** The channels of notifications. A new channel needs its name here, a sender and a classification table. */
export const CHANNELS = ['email', 'slack', 'teams', 'webhook'] as const;
export type Channel = (typeof CHANNELS)[number];

/** A channel has one queue per group of priorities, so that an `urgent` never waits behind a flood of `info`. */
export const LANES = ['express', 'standard'] as const;
export type Lane = (typeof LANES)[number];

export type PerLane<T> = Record<Channel, Record<Lane, T>>;
/** The queues of a stage, which may have fewer channels. */
export type StageLanes<T> = { readonly [C in Channel]?: Readonly<Record<Lane, T>> | undefined };

/** A value for each channel. */
export function perChannel<T>(of: (channel: Channel) => T): Record<Channel, T> {
  return Object.fromEntries(CHANNELS.map((channel) => [channel, of(channel)])) as Record<Channel, T>;
}

/** The channels that a stage has, by what it has one of per channel. */
export function channelsIn(perChannel: Readonly<Partial<Record<Channel, unknown>>>): Channel[] {
  return CHANNELS.filter((channel) => perChannel[channel] !== undefined);
}

/** Highest first: the sweep walks them in this order. */
export const PRIORITIES = ['urgent', 'important', 'normal', 'info'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The priority of the table's `priority_level`, for rows without `priority`. */
export const PRIORITY_OF_LEVEL = { HIGH: 'important', MEDIUM: 'normal', LOW: 'info' } as const;
export const LEVEL_OF_PRIORITY = { urgent: 'HIGH', important: 'HIGH', normal: 'MEDIUM', info: 'LOW' } as const;

/** Longest host that a row keeps, in characters: shorter than the integration_config_id that it stands in for. */
const HOST_LENGTH = 40;

/**
 * The host that a notification without integration is posted to. The row keeps it, because the content is only read
 * when the provider is known to be up. Undefined when the recipient is no https URL. Never a path, which may be a
 * secret.
 */
export function providerHost(recipient: string): string | undefined {
  const url = URL.canParse(recipient) ? new URL(recipient) : undefined;
  return url?.protocol === 'https:' ? url.host.slice(0, HOST_LENGTH) : undefined;
}

/** What of a row says by which provider it goes. */
export interface Routed {
  readonly channel: Channel;
  readonly tenant_id: string;
  readonly integration_config_id?: string;
  readonly provider_host?: string;
}

/** The row's own priority, else the priority of its priority_level; normal where it names none that exists. */
export function priorityOf(row: { readonly priority?: unknown; readonly priority_level?: unknown }): Priority {
  const named = PRIORITIES.find((candidate) => candidate === row.priority);
  return named ?? entryOf<Priority>(PRIORITY_OF_LEVEL, row.priority_level) ?? 'normal';
}
