import { CHANNELS, type Channel } from '../../src/core/model/channels.ts';

/** Of each channel's sender. */
const SENDERS = Object.fromEntries(CHANNELS.map((channel) => [`send-${channel}`, 256])) as Record<
  `send-${Channel}`,
  number
>;

/**
 * The functions, by their folder in functions/, and the megabytes that each has unless the stage sets others. Lambda
 * gives CPU in proportion: 1,769 MB are one core, and our code uses no more than one.
 */
export const FUNCTION_MEMORY_MB = {
  'api-authorizer': 256,
  'api-emails': 256,
  'api-intake': 256,
  'api-newsletters': 256,
  'api-notifications': 256,
  'api-tokens': 256,
  'console-api': 1024,
  'console-newsletters': 1024,
  'console-operations': 256,
  'delivery-events': 256,
  dispatcher: 256,
  'due-indexer': 256,
  // A million deaths are counted in a minute: 17 µs of CPU each.
  monitor: 512,
  'newsletter-clock': 256,
  'newsletter-events': 256,
  'newsletter-prepare': 512,
  'newsletter-send': 512,
  outcomes: 256,
  reconciler: 256,
  ...SENDERS,
  // The page of a mail is rendered: a post of 256 KB whose HTML has 1.9 MB takes 165 MB and 0.8 s of a core.
  unsubscribe: 256,
  verify: 256,
} as const;

export type FunctionName = keyof typeof FUNCTION_MEMORY_MB;
