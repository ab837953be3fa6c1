import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { breakerPolicyFromJson, retryPolicyFromJson } from '../../../src/adapters/deployment/settings-json.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';

const retryPolicy = (changes: object = {}) =>
  JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
    ...changes,
  });

const breaker = (changes: object = {}) =>
  JSON.stringify({
    min_samples: 5,
    failure_share: 0.8,
    window_seconds: 120,
    interval_seconds: 30,
    max_interval_seconds: 120,
    drain_per_second: 20,
    ...changes,
  });

describe('the retry policy of a deployment', () => {
  it('is read in the units of the domain', () => {
    expect(v.parse(retryPolicyFromJson, retryPolicy())).toEqual(DEFAULT_RETRY_POLICY);
  });

  it.each([
    ['the shortest base interval of the local runtime', { base_interval_seconds: 0.001 }],
    ['no retries', { max_retries: { urgent: 0, important: 0, normal: 0, info: 0 } }],
    ['no retention', { retention_hours: { urgent: 0, important: 0, normal: 0, info: 0 } }],
  ])('may have %s', (_, changes) => expect(v.is(retryPolicyFromJson, retryPolicy(changes))).toBe(true));

  it.each([
    ['no base interval', { base_interval_seconds: 0 }],
    ['half a retry', { max_retries: { urgent: 0.5, important: 0, normal: 0, info: 0 } }],
    ['a priority too few', { retention_hours: { urgent: 1, important: 1, normal: 1 } }],
  ])('may not have %s', (_, changes) => expect(v.is(retryPolicyFromJson, retryPolicy(changes))).toBe(false));
});

describe('the breaker policy of a deployment', () => {
  it('is read in the units of the domain', () => {
    expect(v.parse(breakerPolicyFromJson, breaker())).toEqual(DEFAULT_BREAKER_POLICY);
  });

  it.each([{ min_samples: 0 }, { failure_share: 1.1 }, { interval_seconds: 0 }])('may not have %o', (changes) => {
    expect(v.is(breakerPolicyFromJson, breaker(changes))).toBe(false);
  });
});
