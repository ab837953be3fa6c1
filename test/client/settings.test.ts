import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ClientOptions, settingsOf } from '../../src/client/settings.ts';

const good = { url: 'https://api.example', apiKey: 'nrk_x' };
const of = (options: ClientOptions = {}, env = {}) => settingsOf({ ...good, ...options }, env);

describe('a setting that the client could not work with', () => {
  it.each([
    ...[0, 0.5, -1, 3_333.3, 600_001, 5e9, Number.POSITIVE_INFINITY, Number.NaN].map((value) => ['timeoutMs', value]),
    ...[0, 0.5, 1.5, 101, Number.POSITIVE_INFINITY].map((value) => ['concurrency', value]),
    ...[0, 2.5, 10_001].map((value) => ['maxSpoolRetries', value]),
    ...[0, -1, Number.NaN].map((value) => ['spoolRetentionHours', value]),
  ] as [string, number][])('%s of %d is named when the client is made', (name, value) => {
    expect(() => of({ [name]: value })).toThrow(new RegExp(`^The notification client cannot be created: ${name}`));
  });

  it('from the environment is named by its variable', () => {
    expect(() => of({}, { MAX_SPOOL_RETRIES: '1.5', SPOOL_RETENTION_HOURS: 'a week' })).toThrow(
      'maxSpoolRetries (MAX_SPOOL_RETRIES) must be a whole number, 1 to 10,000; ' +
        'spoolRetentionHours (SPOOL_RETENTION_HOURS) must be a number above 0',
    );
  });
});

it('accepts the smallest and the largest values, and fractions of hours', () => {
  for (const options of [
    { timeoutMs: 1, concurrency: 1, maxSpoolRetries: 1, spoolRetentionHours: 0.5 },
    { timeoutMs: 600_000, concurrency: 100, maxSpoolRetries: 10_000, spoolRetentionHours: 10_000 },
  ])
    expect(() => of(options)).not.toThrow();
});

describe('where files are kept', () => {
  it.each([
    [{ spoolDirectory: 'a/spool', failedDirectory: 'a/x/../spool' }, {}],
    [{ spoolDirectory: 'a/failed' }, {}],
    [{}, { NOTIFICATION_SPOOL_DIRECTORY: 'b', NOTIFICATION_FAILED_DIRECTORY: 'b/' }],
  ])('is refused if both are the same: %o, %o', (options, env) => {
    expect(() => of(options, env)).toThrow(/must be different directories/);
  });

  it.each([
    [{}, {}, 'data/spool', 'data/failed'],
    [{ spoolDirectory: 'a/spool' }, {}, 'a/spool', 'a/failed'],
    [{}, { NOTIFICATION_SPOOL_DIRECTORY: 'b/spool' }, 'b/spool', 'b/failed'],
    [{}, { NOTIFICATION_FAILED_DIRECTORY: 'c' }, 'data/spool', 'c'],
    [{ failedDirectory: 'd' }, { NOTIFICATION_FAILED_DIRECTORY: 'c' }, 'data/spool', 'd'],
    [{}, { NOTIFICATION_SPOOL_DIRECTORY: '', NOTIFICATION_FAILED_DIRECTORY: '' }, 'data/spool', 'data/failed'],
  ])('with %o and %o: %s and %s', (options, env, spoolDirectory, failedDirectory) => {
    expect(of(options, env)).toMatchObject({
      spoolDirectory: resolve(spoolDirectory),
      failedDirectory: resolve(failedDirectory),
    });
  });
});
