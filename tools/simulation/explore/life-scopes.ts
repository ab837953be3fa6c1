import type { Feedback } from '../../../src/core/delivery-events/delivery-event.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import { type Edit, type Given, ONE, type Scope } from '../world/state.ts';

export interface NamedScope extends Omit<Scope, 'faults'> {
  /** What meets in it. */
  readonly about: string;
}

export const refused = (...script: ProviderErrorType[]): Given => ({ ...ONE, script });
/**
 * Refused for good. As deployed, a message has more receives than two faults and a claim can use up: else it would be in
 * the dead-letter queue before its notification is dead.
 */
export const dead = { given: [refused('AUTH_FAILED')], receives: 3 };
export const downOnce = { given: [refused('SERVER_OVERLOAD'), refused('SERVER_OVERLOAD')], breakers: true } as const;
export const failedOver = {
  workers: 3,
  given: [{ ...refused('INVALID_RECIPIENT', 'INVALID_RECIPIENT'), fallback: true }],
};
const anew = (edited: readonly Edit[]) => ({ edits: 1, edited, indexings: 1 });
export const BOUNCE: Feedback = {
  kind: 'failed',
  answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' },
  final: true,
};

/** A writer who corrects a row, or puts it anew, while others are at work on it. */
export const LIFE_SCOPES: Readonly<Record<string, NamedScope>> = {
  'failed-over-anew': {
    about: 'a failover, the indexer, and a writer who corrects both recipients, or puts the row anew',
    ...failedOver,
    ...anew(['recipient', 'anew']),
  },
  'corrected-bounced': {
    about: 'an accepted attempt, the event of its bounce, the indexer, and a writer who corrects both recipients',
    workers: 2,
    given: [{ ...ONE, fallback: true }],
    feedbacks: [BOUNCE],
    reports: 1,
    ...anew(['recipient']),
  },
  'corrected-refused': {
    about: 'a wrong recipient, the indexer, and a writer who corrects it',
    workers: 2,
    given: [refused('INVALID_RECIPIENT')],
    ...anew(['recipient']),
  },
  'put-anew': {
    about: 'a time-out, the indexer, and a writer who puts the row anew',
    workers: 3,
    given: [refused('NETWORK_TIMEOUT')],
    ...anew(['anew']),
  },
  corrected: {
    about: 'a worker, the indexer, and a writer who corrects the recipient',
    edits: 1,
    indexings: 2,
    workers: 2,
  },
  'corrected-dead': {
    about: 'a death, a redrive, and a writer who corrects the recipient, who is refused, too',
    ...dead,
    given: [refused('AUTH_FAILED', 'INVALID_RECIPIENT')],
    workers: 3,
    redrives: 1,
    edits: 1,
    indexings: 1,
  },
  'operator-corrects': {
    about: 'a wrong recipient with a fallback, the event of a bounce, and an operator who corrects the recipient',
    workers: 3,
    given: [{ ...refused('INVALID_RECIPIENT', 'INVALID_RECIPIENT'), fallback: true }],
    corrections: 1,
    feedbacks: [BOUNCE],
    reports: 1,
  },
  'operator-corrects-dead': {
    about: 'a death, a redrive of its letter, and an operator who corrects the recipient',
    ...dead,
    given: [refused('AUTH_FAILED', 'AUTH_FAILED')],
    workers: 3,
    redrives: 1,
    corrections: 1,
  },
  'operator-and-writer-correct': {
    about: 'a time-out, the indexer, a writer who corrects the recipient, and an operator who does, too',
    workers: 2,
    given: [refused('NETWORK_TIMEOUT')],
    corrections: 1,
    ...anew(['recipient']),
  },
  'operator-corrects-all': {
    about: 'a death, the redrive of its letter, and an operator who changes the integration of all',
    ...dead,
    given: [refused('AUTH_FAILED')],
    workers: 3,
    redrives: 1,
    bulks: 1,
    bulk: ['correct'],
  },
};
