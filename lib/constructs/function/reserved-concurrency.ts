import type { Channel } from '../../../src/core/model/channels.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** Invocations that are kept for the sender of a channel: all batches that its lanes may have at once, and no less. */
export function senderReservation(
  { concurrency, reservedConcurrency }: StageConfig,
  channel: Channel,
): number | undefined {
  const { express, standard } = concurrency[channel];
  return reservedConcurrency === undefined ? undefined : express + standard;
}

/** Invocations that are kept for the dispatcher. */
export function dispatcherReservation({ reservedConcurrency }: StageConfig): number | undefined {
  return reservedConcurrency?.dispatcher;
}
