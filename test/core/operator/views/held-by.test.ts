import { expect, it } from 'vitest';
import { OUT_OF_TIME } from '../../../../src/core/delivery/ports.ts';
import { heldBy } from '../../../../src/core/operator/views/notification-view.ts';

it.each<[string | undefined, string | undefined]>([
  [JSON.stringify({ breaker: 'webhook#TENANT001@#shop' }), 'held: webhook#TENANT001@#shop is down'],
  ['{ "breaker": "teams#a\\"b" }', 'held: teams#a"b is down'],
  [JSON.stringify({ budget: 'email' }), 'held: the budget of email is used up'],
  [JSON.stringify(OUT_OF_TIME), 'not sent: the worker had no time left'],
  // What a provider answered is nothing that held the attempt.
  [JSON.stringify({ budget: 'email', status: 429 }), undefined],
  [JSON.stringify({ breaker: { id: 1 } }), undefined],
  [JSON.stringify({ worker: 'busy' }), undefined],
  ['{"breaker":"cut', undefined],
  ['', undefined],
  [undefined, undefined],
])('a record with %s tells: %s', (error_details, words) => {
  expect(heldBy(error_details === undefined ? {} : { error_details })).toBe(words);
});
