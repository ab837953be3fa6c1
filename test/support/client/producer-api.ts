import type { BatchNotification } from '../../../src/client/handover/notification.ts';

/**
 * The API in the chaos test: the stand-in, or the real one. `stop` and `start` may be called at any time; they keep the
 * accepted notifications and the `url`.
 */
export interface ProducerApi {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly url: string;
  readonly apiKey: string;
  /** A notification whose marker `delivered` returns after its recipient has got it. */
  notification(marker: string): BatchNotification;
  /** One marker per delivery, in any order. A notification that went out twice is in the list twice. */
  delivered(): Promise<readonly string[]>;
}
