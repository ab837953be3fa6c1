import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createNotificationClient } from '../../src/client/index.ts';

const emitted: unknown[][] = [];
beforeEach(() => {
  emitted.length = 0;
  vi.spyOn(process, 'emitWarning').mockImplementation((...given: unknown[]) => void emitted.push(given));
});
afterEach(() => vi.restoreAllMocks());

const create = (url: string) => createNotificationClient({ url, apiKey: 'nrk_secret' }, {});

it.each([
  'http://api.example',
  'http://10.0.0.1:8080/base',
  'http://127.0.0.1.evil.example',
  'http://localhost.evil.example',
  'http://notlocalhost',
  'http://[::2]:80',
])('a client of %s warns once that its key and content can be read on the way', (url) => {
  create(url);
  create(`${url}/other`);
  expect(emitted).toEqual([
    [
      expect.stringContaining(`to ${new URL(url).origin} without encryption`),
      { code: 'NOTIFICATION_CLIENT_PLAIN_HTTP' },
    ],
  ]);
  expect(JSON.stringify(emitted)).not.toContain('nrk_');
});

it.each([
  'https://api.example',
  'http://localhost:3000',
  'http://api.localhost',
  'http://127.0.0.1:3000',
  'http://127.1.2.3',
  'http://2130706433',
  'http://[::1]:3000',
])('a client of %s does not warn', (url) => {
  create(url);
  expect(emitted).toEqual([]);
});
