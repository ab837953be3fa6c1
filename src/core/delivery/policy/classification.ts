import type { ProviderErrorType } from '../../model/error-types.ts';

/** The facts that classification uses: of an answer, or of a failure to get one. */
export interface AnswerFacts {
  /** HTTP status, when an answer came. */
  readonly status?: number;
  /** The provider's error code or an error's name (`channel_not_found`, `MessageRejected`, `ECONNREFUSED`). */
  readonly code?: string;
  /** The start of the answer's text. */
  readonly text?: string;
}

/** One line of a channel's classification table. All of its conditions must hold. */
export interface ClassificationRule {
  /** A status, or an inclusive range. */
  readonly status?: number | readonly [from: number, to: number];
  readonly code?: string | readonly string[];
  readonly text?: RegExp;
  readonly means: ProviderErrorType;
  /** Why, or where the rule comes from. */
  readonly because: string;
}

/** The codes of a rule, as words. */
/* @__NO_SIDE_EFFECTS__ */
export function codes(words: string): readonly string[] {
  return words.split(/\s+/);
}

/** The first matching rule decides. Without one, the answer is UNKNOWN and so retried. */
export function classify(facts: AnswerFacts, rules: readonly ClassificationRule[]): ProviderErrorType {
  return rules.find((rule) => fits(facts, rule))?.means ?? 'UNKNOWN';
}

function fits(facts: AnswerFacts, rule: ClassificationRule): boolean {
  return (
    (rule.status === undefined || statusFits(facts.status, rule.status)) &&
    (rule.code === undefined || (facts.code !== undefined && [rule.code].flat().includes(facts.code))) &&
    (rule.text === undefined || rule.text.test(facts.text ?? ''))
  );
}

function statusFits(status: number | undefined, wanted: number | readonly [number, number]): boolean {
  if (status === undefined) return false;
  return typeof wanted === 'number' ? status === wanted : status >= wanted[0] && status <= wanted[1];
}
