import type { Channel } from '../../core/model/channels.ts';
import { Problem } from '../../core/model/problem.ts';

const CONFIGURE = 'docs/reference/configuration.md says how a stage gets it';

/** What a stage lacks when something of these is asked for. */
export const LACKS = {
  newsletters: `This stage has no newsletters: ${CONFIGURE}.`,
  api: `This stage has no API, and thus no keys: ${CONFIGURE}.`,
  channel: (channel: Channel | string) => `This stage has no channel ${channel}: ${CONFIGURE}.`,
  outcomes: `This stage tells no outcomes: ${CONFIGURE}.`,
  monitoring: `This stage has no metrics, as its monitoring is off: ${CONFIGURE}.`,
} as const;

/**
 * What a stage has of something, by name. To read what it does without refuses in one sentence, whichever command or
 * route needs it; what is not there is not listed either.
 * @throws Problem on reading a name that the stage does without
 */
export function ofStage<K extends string, T>(
  names: readonly K[],
  has: Readonly<Partial<Record<K, T | undefined>>>,
  lacks: (name: K) => string,
): Readonly<Record<K, T>> {
  const all = {} as Record<K, T>;
  for (const name of names) {
    const value = has[name];
    if (value !== undefined) all[name] = value;
    else {
      Object.defineProperty(all, name, {
        enumerable: false,
        get: () => {
          throw new Problem('not-found', lacks(name));
        },
      });
    }
  }
  return all;
}

const TABLES = [
  'notification_log',
  'notification_content',
  'notification_retry_log',
  'pipeline_state',
  'audit',
  'api_keys',
  'newsletters',
  'members',
  'emails',
  'email_batches',
  'email_recipients',
] as const;

/** The names of the tables, of which parts have some. */
export function tablesOf(has: Readonly<Partial<Record<(typeof TABLES)[number], string | undefined>>>) {
  return ofStage(TABLES, has, (name) => (name === 'api_keys' ? LACKS.api : LACKS.newsletters));
}

export function newsletterQueues(has: { readonly prepare: string; readonly send: string } | undefined) {
  return ofStage(['prepare', 'send'], has ?? {}, () => LACKS.newsletters);
}
