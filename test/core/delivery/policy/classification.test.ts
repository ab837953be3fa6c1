import { expect, it } from 'vitest';
import {
  type AnswerFacts,
  type ClassificationRule,
  classify,
} from '../../../../src/core/delivery/policy/classification.ts';

const RULES: readonly ClassificationRule[] = [
  { status: 429, code: ['slow', 'slower'], means: 'RATE_LIMITED', because: 'both must hold' },
  { status: [500, 599], means: 'SERVER_OVERLOAD', because: 'the ends belong to it' },
  { code: 'gone', means: 'INVALID_RECIPIENT', because: 'one code' },
  { text: /forbidden/, means: 'PERMISSION_DENIED', because: 'part of the text' },
  { status: 429, means: 'AUTH_TEMPORARY', because: 'a line above comes first' },
];

it.each<[string, AnswerFacts, string]>([
  ['a code of a list with its status', { status: 429, code: 'slower' }, 'RATE_LIMITED'],
  ['that code with another status', { status: 400, code: 'slower' }, 'UNKNOWN'],
  ['that status with another code', { status: 429, code: 'slowest' }, 'AUTH_TEMPORARY'],
  ['that status without a code', { status: 429 }, 'AUTH_TEMPORARY'],
  ['a status before a range', { status: 499 }, 'UNKNOWN'],
  ['the first of a range', { status: 500 }, 'SERVER_OVERLOAD'],
  ['the last of a range', { status: 599 }, 'SERVER_OVERLOAD'],
  ['a status behind a range', { status: 600 }, 'UNKNOWN'],
  ['a single code', { code: 'gone' }, 'INVALID_RECIPIENT'],
  ['part of a code', { code: 'go' }, 'UNKNOWN'],
  ['a text', { text: 'it is forbidden here' }, 'PERMISSION_DENIED'],
  ['two lines: the first counts', { status: 503, code: 'gone' }, 'SERVER_OVERLOAD'],
  ['nothing', {}, 'UNKNOWN'],
])('an answer means what the first line says of which all conditions hold: %s', (_, facts, expected) => {
  expect(classify(facts, RULES)).toBe(expected);
});

it('a text that is absent fits no pattern but one that fits the empty text', () => {
  const rules = (text: RegExp) => [{ text, means: 'FORMAT_ERROR', because: '' }] as const;
  expect(classify({}, rules(/^$/))).toBe('FORMAT_ERROR');
  expect(classify({}, rules(/./))).toBe('UNKNOWN');
});
