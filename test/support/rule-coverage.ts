import { type AnswerFacts, type ClassificationRule, classify } from '../../src/core/delivery/sender.ts';

/** The rules that decide none of the cases: a row nobody tests, or one that an earlier row hides. */
export function undecidedBy(cases: readonly AnswerFacts[], rules: readonly ClassificationRule[]): ClassificationRule[] {
  const fits = (facts: AnswerFacts, rule: ClassificationRule) =>
    classify(facts, [{ ...rule, means: 'AUTH_FAILED' }]) === 'AUTH_FAILED';
  const deciding = new Set(cases.map((facts) => rules.find((rule) => fits(facts, rule))));
  return rules.filter((rule) => !deciding.has(rule));
}
