import type { Feedback } from '../../src/core/delivery-events/delivery-event.ts';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import { type Edit, type Given, INFO, ONE, type Scope } from '../world/state.ts';

interface NamedScope extends Omit<Scope, 'faults'> {
  /** What meets in it. */
  readonly about: string;
}

const refused = (...script: ProviderErrorType[]): Given => ({ ...ONE, script });
/**
 * Refused for good. As deployed, a message has more receives than two faults and a claim can use up: else it would be in
 * the dead-letter queue before its notification is dead.
 */
const dead = { given: [refused('AUTH_FAILED')], receives: 3 };
const downOnce = { given: [refused('SERVER_OVERLOAD'), refused('SERVER_OVERLOAD')], breakers: true } as const;
const failedOver = { workers: 3, given: [{ ...refused('INVALID_RECIPIENT', 'INVALID_RECIPIENT'), fallback: true }] };
const anew = (edited: readonly Edit[]) => ({ edits: 1, edited, indexings: 1 });
const BOUNCE: Feedback = {
  kind: 'failed',
  answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' },
  final: true,
};

/** Small worlds by name; in each, rooms meet on one subject. */
export const SCOPES: Readonly<Record<string, NamedScope>> = {
  one: { about: 'one message, two workers', workers: 2 },
  retried: { about: 'a time-out, then a retry', workers: 3, given: [refused('NETWORK_TIMEOUT')] },
  copies: { about: 'two messages for one row', workers: 2, messages: 2 },
  swept: { about: 'a sweep beside the message of an earlier one', workers: 3, sweeps: 1 },
  pair: { about: 'two rows', workers: 2, given: [ONE, ONE] },
  delivered: { about: 'two workers, the event of a delivery', workers: 2, tells: 1, feedback: { kind: 'delivered' } },
  bounced: { about: 'two workers, and the event of a bounce', workers: 2, tells: 1, feedback: BOUNCE },
  contradicted: {
    about: 'an accepted attempt, and the events of a bounce and of a complaint',
    workers: 1,
    feedbacks: [BOUNCE, { kind: 'complained' } as const],
    reports: 2,
  },
  poisonous: {
    about: 'a message that kills each worker that sends it, in a batch with another',
    workers: 3,
    given: [{ ...ONE, poison: true }, ONE],
    batch: 2,
  },
  cancelled: { about: 'two workers, and an operator who cancels', workers: 2, cancels: 1 },
  'cancelled-told': {
    about: 'two workers, an operator who cancels, and the event of a bounce',
    workers: 2,
    cancels: 1,
    tells: 1,
    feedback: BOUNCE,
  },
  reported: {
    about: 'an attempt whose answer may be lost, its recipient who opens it, and a producer that reports a failure',
    workers: 1,
    feedbacks: [{ kind: 'opened' }],
    reports: 1,
    failures: 1,
    failed: ['INVALID_RECIPIENT'],
  },
  'retried-now': { about: 'workers, and an operator who retries at once', workers: 3, retries: 1 },
  dead: { about: 'a death, and a redrive', ...dead, workers: 3, redrives: 1 },
  moved: {
    about: 'a death, a redrive, and a budget that grants nothing, of a message that SQS may move while a worker has it',
    ...dead,
    receives: 2,
    workers: 5,
    redrives: 1,
    pacing: 'account',
    postpones: 1,
  },
  'dead-swept': { about: 'a sweep, and a death', ...dead, workers: 2, messages: 0, sweeps: 1 },
  'dead-apart': {
    about: 'a death, a redrive, an operator who gives it up, and clocks that are 5 s apart',
    ...dead,
    workers: 3,
    redrives: 1,
    drops: 1,
    clocks: [-2_500, 2_500],
  },
  'swept-stale': {
    about: 'a sweep, and an index that is a write behind its table',
    workers: 2,
    sweeps: 1,
    stale: true,
  },
  'held-lane': {
    about: 'a sweep, and a lane that stays full while its workers are slow',
    workers: 1,
    messages: 2,
    sweeps: 1,
    sweepers: [{}],
    lanes: { seen: ['email'], least: 2, interval_ms: 60_000 },
  },
  'dry-run': {
    about: 'a worker, and a dry run of a sweep',
    workers: 1,
    sweeps: 1,
    sweepers: [{ ...INFO, dry_run: true }],
  },
  forced: { about: 'a death, and a forced run', ...dead, workers: 3, forces: 1 },
  'redriven-paced': {
    about: 'a death, a redrive, and a budget that grants nothing',
    ...dead,
    workers: 5,
    redrives: 1,
    pacing: 'account',
    postpones: 2,
  },
  gathered: {
    about: 'two rows in a batch, whose outcomes share calls',
    workers: 2,
    given: [ONE, ONE],
    batch: 2,
    gathering: true,
  },
  'failed-over': { about: 'a wrong recipient, and a fallback channel', ...failedOver },
  'failed-over-deleted': {
    about: 'the same, and a writer who deletes the row',
    ...failedOver,
    deletions: 1,
  },
  'failed-over-erased': { about: 'the same, and an operator who erases', ...failedOver, erasures: 1 },
  'failed-over-anew': {
    about: 'the same, the indexer, and a writer who corrects both recipients, or puts the row anew',
    ...failedOver,
    ...anew(['recipient', 'anew']),
  },
  'put-anew': {
    about: 'a time-out, the indexer, and a writer who puts the row anew',
    workers: 3,
    given: [refused('NETWORK_TIMEOUT')],
    ...anew(['anew']),
  },
  breaker: { about: 'two rows of a provider that is down once', ...downOnce, workers: 2 },
  'breaker-kept': {
    about: 'the same, and an instance that keeps what it knows',
    ...downOnce,
    workers: 2,
    instances: 'kept',
  },
  hanging: {
    about: 'a breaker, a budget, and any call that hangs',
    workers: 2,
    breakers: true,
    pacing: 'receiver',
    hangs: ['rows.', 'records.', 'breakers.', 'budget.', 'retries.', 'provider.'],
  },
  silent: {
    about: 'budgets and breakers of which no call is answered',
    workers: 2,
    breakers: true,
    pacing: 'receiver',
    given: [refused('SERVER_OVERLOAD')],
    breakdowns: ['breakers. answers no call', 'budget. answers no call'],
  },
  unrecorded: {
    about: 'a RetryLog that answers or takes nothing',
    workers: 2,
    sweeps: 1,
    breakdowns: ['records. answers no call', 'records. refuses every call'],
  },
  'taken-in': {
    about: 'a row of another writer, the indexer, a sweep',
    given: [{ ...ONE, foreign: true }],
    indexings: 2,
    sweeps: 1,
    workers: 1,
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
  'channel-removed': {
    about: 'a channel that the dispatcher has no more, the workers still have, and a row that was due for a day',
    given: [{ ...ONE, hours: 25 }],
    workers: 1,
    sweeps: 2,
    channels: ['slack'],
  },
  spoiled: {
    about: 'workers, the indexer, and a writer who spoils a column',
    edits: 1,
    indexings: 1,
    workers: 2,
    sweeps: 1,
    edited: ['limit', 'minute', 'decimals'],
  },
  erased: { about: 'workers, and an operator who erases', workers: 2, erasures: 1 },
  'erased-dead': {
    about: 'a death, a redrive, and an operator who erases',
    ...dead,
    workers: 3,
    redrives: 1,
    erasures: 1,
  },
  'erased-foreign': {
    about: 'a row of another writer, the indexer, a sweep, and an operator who erases',
    given: [{ ...ONE, foreign: true }],
    indexings: 2,
    sweeps: 1,
    workers: 1,
    erasures: 1,
  },
  'erased-retried': {
    about: 'one operator erases, one retries at once',
    workers: 2,
    retries: 1,
    erasures: 1,
  },
  'handed-over': { about: 'two requests of a producer with one key', given: [], requests: 2, workers: 2 },
};

export function scopeOf(name: string, faults: number): Scope {
  const scope = SCOPES[name];
  if (scope === undefined) throw new Error(`There is no scope ${name}.`);
  return { ...scope, faults };
}
