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
export const anew = (edited: readonly Edit[]) => ({ edits: 1, edited, indexings: 1 });
export const BOUNCE: Feedback = {
  kind: 'failed',
  answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' },
  final: true,
};
