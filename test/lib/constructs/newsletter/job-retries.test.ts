import type { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { retriesFromJson } from '../../../../functions/shared/runtime/newsletter-env.ts';
import { SOURCE_RETRIES } from '../../../../src/core/newsletter/model/job-limits.ts';
import { resourcesOf, templateOf } from '../../../support/lib/synthesize.ts';

/** The retries that each function of the job gets. */
function retriesIn(template: Template): unknown[] {
  return resourcesOf(template, 'AWS::Lambda::Function').flatMap(({ properties }) => {
    const { NEWSLETTER_RETRIES: text } = (properties['Environment'] as { Variables: Record<string, string> }).Variables;
    return text === undefined ? [] : [v.parse(retriesFromJson, text)];
  });
}

it('the job retries as the source says, in each of its functions', () => {
  const found = retriesIn(templateOf({ stage: 'dev' }));
  expect(found.length).toBeGreaterThanOrEqual(4);
  for (const retries of found) expect(retries).toEqual(SOURCE_RETRIES);
});

it.each([
  ['a resend waits 15 minutes', 'UNCERTAIN_MINUTES', 'UncertainMinutes', {}, '15'],
  ['it waits as the stage says', 'UNCERTAIN_MINUTES', 'UncertainMinutes', { uncertainMinutes: 0 }, '0'],
  ['senders are open', 'OWN_SENDERS_ONLY', 'OwnSendersOnly', {}, 'false'],
  ['senders are closed', 'OWN_SENDERS_ONLY', 'OwnSendersOnly', { ownSendersOnly: true }, 'true'],
  ['who sends may stay unsaid', 'REQUIRE_ADDRESS', 'RequireAddress', {}, 'false'],
  ['it may not', 'REQUIRE_ADDRESS', 'RequireAddress', { requireAddress: true }, 'true'],
  ['as many batches go at once', 'BATCH_CONCURRENCY', 'BatchConcurrency', { batchConcurrency: 7 }, '7'],
])('wherever an operator decides: %s', (_, variable, output, settings, expected) => {
  const template = templateOf({
    stage: 'dev',
    'notification-retry.console': { cognito: { domainPrefix: 'nr-ops' } },
    'notification-retry.newsletter': settings,
  });
  const given = resourcesOf(template, 'AWS::Lambda::Function').flatMap(({ properties }) => {
    // The function that empties the console's bucket has none.
    const { Variables } = (properties['Environment'] ?? { Variables: {} }) as { Variables: Record<string, string> };
    const { POWERTOOLS_SERVICE_NAME: name, [variable]: value } = Variables;
    return value === undefined ? [] : [[name, value]];
  });
  expect(Object.fromEntries(given)).toMatchObject({
    'api-emails': expected,
    [variable === 'REQUIRE_ADDRESS' ? 'newsletter-prepare' : 'newsletter-send']: expected,
    'console-newsletters': expected,
  });
  expect(template.findOutputs(output)[output]?.['Value']).toBe(expected);
});

it('a stage changes them', () => {
  const given = {
    storageRetriesBeforeSending: 3,
    storageMinutesBeforeSending: 4,
    storageRetriesAfterSending: 5,
    storageMinutesAfterSending: 6,
    storagePauseSeconds: 7,
    providerRetries: 8,
    overloadedRetries: 9,
    providerPauseSeconds: 11,
  };
  const context = Object.entries(given).map(([key, value]) => [`notification-retry.newsletter.${key}`, value]);
  expect(retriesIn(templateOf(Object.fromEntries(context)))[0]).toEqual({
    storage_before_sending: 3,
    storage_before_minutes: 4,
    storage_after_sending: 5,
    storage_after_minutes: 6,
    storage_pause_seconds: 7,
    provider: 8,
    provider_overloaded: 9,
    provider_pause_seconds: 11,
    // Not a retry, and left at its default: how many must be refused before everybody counts as refused.
    refused_recipients: 10,
  });
});
