import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bundleBrowserClient } from '../../../tools/scripts/build-client.ts';

it('the client for web pages has no dependency, at most 10 KB compressed, and is loaded where there is no page', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'browser-client-'));
  try {
    const inputs = await bundleBrowserClient(directory);
    expect(inputs.filter((file) => !file.startsWith('src/client/'))).toEqual([]);
    const built = readFileSync(join(directory, 'browser.js'));
    expect(built.toString()).not.toMatch(/\bimport\b|\brequire\(/);
    expect(gzipSync(built).length).toBeLessThan(10 * 1024);

    // A server that renders pages loads their modules, too.
    vi.stubGlobal('indexedDB', undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const api = { url: '/api', getToken: async () => 'nrt_x' };
    const { createOfflineQueue, defineNotificationState } = await import(join(directory, 'browser.js'));
    expect(defineNotificationState(api)).toBeUndefined();
    await expect(createOfflineQueue({ ...api, url: 'https://api.example' })).rejects.toThrow('IndexedDB');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
