import { describe, expect, it } from 'vitest';
import { type AnswerFacts, type ClassificationRule, classify } from '../../src/core/delivery/policy/classification.ts';

/**
 * What every classification table must do: classify the cases as expected, and have no rule that decides none of them.
 * @param inherited rules of the table that another table's test covers
 */
export function classificationSuite(
  answer: string,
  rules: readonly ClassificationRule[],
  expected: readonly (readonly [AnswerFacts, string])[],
  inherited: readonly ClassificationRule[] = [],
): void {
  describe(answer, () => {
    it.each(expected)('%j is %s', (facts, type) => expect(classify(facts, rules)).toBe(type));

    it('is decided by each rule of the table in at least one of these cases', () => {
      const covered = rules.filter((rule) => !inherited.includes(rule));
      const cases = expected.map(([facts]) => facts);
      expect(undecidedBy(cases, covered)).toEqual([]);
    });
  });
}

/** The rules that decide none of the cases: no case tests them, or an earlier rule hides them. */
function undecidedBy(cases: readonly AnswerFacts[], rules: readonly ClassificationRule[]): ClassificationRule[] {
  const fits = (facts: AnswerFacts, rule: ClassificationRule) =>
    classify(facts, [{ ...rule, means: 'AUTH_FAILED' }]) === 'AUTH_FAILED';
  const deciding = new Set(cases.map((facts) => rules.find((rule) => fits(facts, rule))));
  return rules.filter((rule) => !deciding.has(rule));
}
