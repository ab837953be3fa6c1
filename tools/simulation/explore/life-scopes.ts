import { ONE } from '../world/state.ts';
import { anew, BOUNCE, dead, failedOver, type NamedScope, refused } from './scope-parts.ts';

/** A writer who corrects a row, or puts it anew, while others are at work on it. */
export const LIFE_SCOPES: Readonly<Record<string, NamedScope>> = {
  'failed-over-anew': {
    about: 'the same, the indexer, and a writer who corrects both recipients, or puts the row anew',
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
