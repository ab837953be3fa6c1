import type { Feedback } from '../../src/core/delivery-events/delivery-event.ts';
import type { Scope } from '../world/scope.ts';

interface NamedScope extends Omit<Scope, 'faults'> {
  /** What meets in it. */
  readonly about: string;
}

/** Refused for good: two receives bring its message to the dead-letter queue. */
const dead = { script: ['AUTH_FAILED'], receives: 2 } as const;
const BOUNCE: Feedback = {
  kind: 'failed',
  answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' },
  final: true,
};

/** Small worlds by name; in each, rooms meet on one subject. */
export const SCOPES: Readonly<Record<string, NamedScope>> = {
  one: { about: 'one message, two workers', workers: 2 },
  retried: { about: 'a time-out, then a retry', workers: 3, script: ['NETWORK_TIMEOUT'] },
  copies: { about: 'two messages for one row', workers: 2, messages: 2 },
  swept: { about: 'a sweep beside the message of an earlier one', workers: 3, sweeps: 1 },
  pair: { about: 'two rows', workers: 2, rows: 2 },
  delivered: {
    about: 'two workers, and the event of a delivery',
    workers: 2,
    tells: 1,
    feedback: { kind: 'delivered' },
  },
  bounced: { about: 'two workers, and the event of a bounce', workers: 2, tells: 1, feedback: BOUNCE },
  cancelled: { about: 'two workers, and an operator who cancels', workers: 2, cancels: 1 },
  'retried-now': { about: 'workers, and an operator who retries at once', workers: 3, retries: 1 },
  dead: { about: 'a death, and a redrive', ...dead, workers: 3, redrives: 1 },
  'dead-swept': { about: 'a sweep, and a death', ...dead, workers: 2, messages: 0, sweeps: 1 },
  forced: { about: 'a death, and a forced run', ...dead, workers: 3, forces: 1 },
  'redriven-paced': {
    about: 'a death, a redrive, and a budget that grants nothing',
    ...{ ...dead, workers: 4, redrives: 1, pacing: 'account' as const, postpones: 1 },
  },
};

export function scopeOf(name: string, faults: number): Scope {
  const scope = SCOPES[name];
  if (scope === undefined) throw new Error(`There is no scope ${name}.`);
  return { ...scope, faults };
}
