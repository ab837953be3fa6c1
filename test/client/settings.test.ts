import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiBase } from '../../src/client/handover/api-url.ts';
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

  it.each([
    ['http://user:pw@api.example', 'must have no user and no password'],
    ['http://user@api.example', 'must have no user and no password'],
    ['https://:pw@api.example/base', 'must have no user and no password'],
    ['http://api.example ', 'must have no blanks'],
    [' http://api.example', 'must have no blanks'],
    ['http://api.example\n', 'must have no blanks'],
    ['http://api.ex\tample/', 'must have no blanks'],
    ['http://api.example/a b', 'must have no blanks'],
    ['http://api.example\u00a0', 'must have no blanks'],
    ['http://api.example?x=1', 'must have no query and no fragment'],
    ['http://api.example/?', 'must have no query and no fragment'],
    ['http://api.example#top', 'must have no query and no fragment'],
    ['http://api.example/#', 'must have no query and no fragment'],
    ['api.example', 'must be an http or https URL'],
    ['//api.example', 'must be an http or https URL'],
    ['ftp://api.example', 'must be an http or https URL'],
    ['http://api.example:99999', 'must be an http or https URL'],
    ['http://[::1', 'must be an http or https URL'],
    ['', 'must be an http or https URL'],
  ])('url %j: %s', (url, why) => {
    const message = `The notification client cannot be created: url (NOTIFICATION_API_URL) ${why}.`;
    expect(() => of({ url })).toThrow(new TypeError(message));
    expect(() => settingsOf({ apiKey: 'nrk_x' }, { NOTIFICATION_API_URL: url })).toThrow(new TypeError(message));
  });

  it('from the environment is named by its variable', () => {
    expect(() => of({}, { MAX_SPOOL_RETRIES: '1.5', SPOOL_RETENTION_HOURS: 'a week' })).toThrow(
      'maxSpoolRetries (MAX_SPOOL_RETRIES) must be a whole number, 1 to 10,000; ' +
        'spoolRetentionHours (SPOOL_RETENTION_HOURS) must be a number above 0',
    );
  });
});

it.each([
  'http://api.example',
  'HTTPS://API.example:443/',
  'http://api.example/base//',
  'http:api.example',
  'http://bücher.example',
  'http://[::1]:8080/a%20b/~x@y',
])('makes requests to %s that fetch can make', async (url) => {
  expect(of({ url }).url).toBe(url);
  expect(() => new Request(`${apiBase(url)}/v1/notifications`)).not.toThrow();
  expect(apiBase(url)).not.toMatch(/\/$/);
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
