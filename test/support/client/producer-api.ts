import type { BatchNotification } from '../../../src/client/handover/notification.ts';

/**
 * What a producer's client talks to in the chaos test: the stand-in here, or the real thing.
 * `stop` and `start` may come at any time and keep what was accepted, and `url` stays the same.
 */
export interface ProducerApi {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly url: string;
  readonly apiKey: string;
  /** A notification of which `delivered` gives the marker once it is with its recipient. */
  notification(marker: string): BatchNotification;
  /** A marker for each delivery, in no order: a notification that went out twice is in it twice. */
  delivered(): Promise<readonly string[]>;
}
