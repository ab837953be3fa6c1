import { describe, expect, it } from 'vitest';
import { breakerJson } from '../../../lib/config/settings-json.ts';
import { parseStageConfig, StageConfigError } from '../../../lib/config/stage-config.ts';
import { breakerPolicyOf, DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import { PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';

const least = { stage: 'dev', senderAddress: 'noreply@example.com' };

function faultsOf(input: unknown): readonly string[] {
  try {
    parseStageConfig(input);
  } catch (error) {
    if (error instanceof StageConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('a stage configuration', () => {
  it('needs only a stage and a sender', () => {
    const config = parseStageConfig(least);

    expect(config).toMatchObject({ ...least, schedule: 'cron(30 * * * ? *)', baseIntervalSeconds: 300 });
    for (const priority of PRIORITIES) {
      expect(config.maxRetries[priority]).toBe(PRIORITY_POLICY[priority].max_retries);
      expect(config.retentionHours[priority] * 3_600_000).toBe(PRIORITY_POLICY[priority].retention_ms);
    }
    expect(config).not.toHaveProperty('configurationSet');
  });

  it.each([
    ['integrationSenders', 'a@mail.your-domain.jp', 2_500],
    ['integrationConfigurationSets', 'our-configuration-set', 500],
    ['webhookPorts', 8443, 500],
  ])('takes no more %s than a policy or an environment of AWS holds', (name, value, most) => {
    const list = (characters: number) => Array(Math.floor(characters / String(value).length)).fill(value);
    expect(faultsOf({ ...least, [name]: list(most) })).toEqual([]);
    expect(faultsOf({ ...least, [name]: [...list(most), value] })).toEqual([
      `${name} must have at most ${most} characters in all`,
    ]);
  });

  it('has the domain’s default breaker, except for the values that it sets', () => {
    const json = (breaker = {}) => JSON.parse(breakerJson(parseStageConfig({ ...least, breaker })));
    expect(breakerPolicyOf(json())).toEqual(DEFAULT_BREAKER_POLICY);
    expect(breakerPolicyOf(json({ minSamples: 50, maxIntervalSeconds: 90 }))).toEqual({
      ...DEFAULT_BREAKER_POLICY,
      min_samples: 50,
      max_interval_ms: 90_000,
    });
  });

  it('keeps the defaults beside the values that are given', () => {
    const config = parseStageConfig({ ...least, maxRetries: { urgent: 20 }, concurrency: { slack: { express: 3 } } });

    expect(config.maxRetries).toEqual({ urgent: 20, important: 7, normal: 5, info: 3 });
    expect(config.concurrency.slack).toEqual({ express: 3, standard: 2 });
    expect(config.concurrency.email).toEqual(parseStageConfig(least).concurrency.email);
  });

  it('may reserve concurrency that fits into the limit of the account', () => {
    const { reservedConcurrency } = parseStageConfig({ ...least, reservedConcurrency: { accountLimit: 158 } });
    expect(reservedConcurrency).toEqual({ accountLimit: 158, dispatcher: 5 });
    expect(parseStageConfig(least)).not.toHaveProperty('reservedConcurrency');
  });

  it('passes again unchanged once it has passed', () => {
    const config = parseStageConfig({ ...least, configurationSet: 'events', retentionHours: { info: 1.5 } });

    expect(parseStageConfig(config)).toEqual(config);
  });

  it.each([
    [
      'stage',
      { ...least, stage: 'Prod' },
      'stage must be a lower-case letter followed by at most 15 of a-z, 0-9 and -, is "Prod"',
    ],
    [
      'every origin',
      { ...least, api: { corsOrigins: ['*'] } },
      /^api\.corsOrigins\.0 must be an origin as browsers send it.*is "\*"$/,
    ],
    ['a page', { ...least, api: { corsOrigins: ['https://a.example/'] } }, /^api\.corsOrigins\.0 must be an origin/],
    ['plain http', { ...least, api: { corsOrigins: ['http://a.example'] } }, /^api\.corsOrigins\.0 must be an origin/],
    ['a long stage', { ...least, stage: 'a2345678901234567' }, /^stage must be/],
    ['no sender', { stage: 'dev' }, 'senderAddress is missing'],
    [
      'a sender with a name',
      { ...least, senderAddress: 'Us <a@b.example>' },
      /^senderAddress must be a plain e-mail address/,
    ],
    ['configuration set', { ...least, configurationSet: 'a b' }, /^configurationSet must be 1 to 64 of/],
    [
      'a sender of integrations',
      { ...least, integrationSenders: ['x'] },
      /^integrationSenders\.0 must be a plain e-mail/,
    ],
    [
      'one sender in place of a list',
      { ...least, integrationSenders: 'a@b.example' },
      /^integrationSenders must be a list of e-mail/,
    ],
    ['schedule', { ...least, schedule: 'hourly' }, /^schedule must be cron\(…\) or rate\(…\).*is "hourly"$/],
    ['type of schedule', { ...least, schedule: 30 }, /^schedule must be a schedule expression.*is 30$/],
    [
      'base interval',
      { ...least, baseIntervalSeconds: '5m' },
      'baseIntervalSeconds must be a number from 1 to 86400 (seconds), is "5m"',
    ],
    [
      'retries',
      { ...least, maxRetries: { info: 1.5 } },
      'maxRetries.info must be a whole number from 0 to 100 (retries), is 1.5',
    ],
    [
      'retention',
      { ...least, retentionHours: { urgent: 0 } },
      'retentionHours.urgent must be a number from 0.1 to 336 (hours), is 0',
    ],
    [
      'a priority',
      { ...least, maxRetries: { high: 1 } },
      'maxRetries.high is not a known key; known are urgent, important, normal, info',
    ],
    [
      'a batch',
      { ...least, batchSize: { webhook: { standard: 51 } } },
      'batchSize.webhook.standard must be a whole number from 1 to 50 (notifications), is 51',
    ],
    [
      'a large batch without a window',
      { ...least, batchSize: { slack: { express: 11 } }, batchWindowSeconds: { slack: { express: 0 } } },
      'batchWindowSeconds is too short for slack.express: a batch of more than 10 (batchSize) needs at least 1 second',
    ],
    [
      'concurrency',
      { ...least, concurrency: { slack: { express: 1 } } },
      'concurrency.slack.express must be a whole number from 2 to 1000 (concurrent batches), is 1',
    ],
    [
      'a lane',
      { ...least, concurrency: { slack: { fast: 2 } } },
      'concurrency.slack.fast is not a known key; known are express, standard',
    ],
    [
      'a channel',
      { ...least, concurrency: { fax: {} } },
      'concurrency.fax is not a known key; known are email, slack, teams, webhook',
    ],
    [
      'a flat channel',
      { ...least, concurrency: { slack: 2 } },
      /^concurrency\.slack must be an object with the keys express, standard/,
    ],
    ['a port', { ...least, webhookPorts: [65_536] }, /^webhookPorts\.0 must be a whole number from 1 to 65535/],
    ['one port in place of a list', { ...least, webhookPorts: 8443 }, 'webhookPorts must be a list of ports, is 8443'],
    [
      'reserved concurrency without the limit that it is part of',
      { ...least, reservedConcurrency: {} },
      'reservedConcurrency.accountLimit is missing',
    ],
    [
      'reserved concurrency in a new account',
      { ...least, reservedConcurrency: { accountLimit: 10 } },
      /^reservedConcurrency\.accountLimit must be at least 158, is 10: 58 are reserved .* 100 to other functions/,
    ],
    [
      'reserved concurrency that one more dispatcher exceeds',
      { ...least, reservedConcurrency: { accountLimit: 158, dispatcher: 6 } },
      /^reservedConcurrency\.accountLimit must be at least 159, is 158/,
    ],
    ['log retention', { ...least, logRetentionDays: 10 }, /^logRetentionDays must be one of 1, 3, 5, 7,.*is 10$/],
    ['log level', { ...least, logLevel: 'debug' }, 'logLevel must be DEBUG, INFO, WARN or ERROR, is "debug"'],
    [
      'an unknown key',
      { ...least, sender_address: 'x' },
      /^sender_address is not a known key; known are stage, senderAddress,/,
    ],
    ['nothing', undefined, /^configuration must be an object with the keys stage, senderAddress,/],
  ])('is refused for its %s, with the key and what would be right', (_, input, fault) => {
    expect(faultsOf(input)).toEqual([fault instanceof RegExp ? expect.stringMatching(fault) : fault]);
  });

  it('names all faults at once', () => {
    const faults = faultsOf({ stage: '', maxRetries: { urgent: -1, info: 'three' }, colour: 'red' });

    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(
      expect.arrayContaining(['stage', 'senderAddress', 'maxRetries.urgent', 'maxRetries.info', 'colour']),
    );
    expect(faults).toHaveLength(5);
  });

  it('keeps addresses out of its errors', () => {
    expect(faultsOf({ ...least, senderAddress: 'someone@example,com' }).join()).not.toContain('someone');
  });
});
