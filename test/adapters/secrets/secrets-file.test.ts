import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSecretsFileSource } from '../../../src/adapters/secrets/secret-source.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'secrets-'));
  path = join(directory, 'secrets.json');
});
afterEach(() => rm(directory, { recursive: true }));

const key = Buffer.alloc(32, 1).toString('base64');

describe('the secrets file', () => {
  it('holds integrations and local keys', async () => {
    await writeFile(
      path,
      JSON.stringify({ integrations: { IC001: { token: 'x' } }, recipient_key: key, recipient_hash_key: 'h' }),
    );
    const source = createSecretsFileSource(path);
    expect(await source.get('integrations/IC001')).toBe('{"token":"x"}');
    expect(await source.get('recipient_key')).toBe(key);
    expect(await source.get('recipient_hash_key')).toBe('h');
    expect(await source.get('integrations/IC002')).toBeUndefined();
    expect(await source.get('integrations/toString')).toBeUndefined();
    expect(await source.get('other')).toBeUndefined();
  });

  it('is read again for a fresh value, and a second after it changed', async () => {
    let now = 0;
    await writeFile(path, '{"integrations":{"a":{"v":1}}}');
    const source = createSecretsFileSource(path, () => now);
    await source.get('integrations/a');
    await writeFile(path, '{"integrations":{"a":{"v":2}}}');
    await utimes(path, 1_000, 1_000);
    expect(await source.get('integrations/a')).toBe('{"v":1}');
    expect(await source.get('integrations/a', { fresh: true })).toBe('{"v":2}');
    await writeFile(path, '{"integrations":{"a":{"v":3}}}');
    await utimes(path, 2_000, 2_000);
    expect(await source.get('integrations/a')).toBe('{"v":2}');
    now = 1_000;
    expect(await source.get('integrations/a')).toBe('{"v":3}');
  });

  it('holds no secrets when it does not exist', async () => {
    expect(await createSecretsFileSource(path).get('recipient_key')).toBeUndefined();
  });

  it.each([
    ['hunter2', 'it is not a JSON object'],
    ['{"integrations":{"IC001":"hunter2"}}', 'integrations.IC001 must be Object'],
    ['{"recipient_key":"hunter2"}', 'recipient_key must be the base64 of 32 bytes'],
    ['{"recipient_hash_key":""}', 'recipient_hash_key must not be empty'],
    ['["hunter2"]', 'it is not a JSON object'],
  ])('that contains %s is refused with file and field, but without the value', async (text, message) => {
    await writeFile(path, text);
    const reading = createSecretsFileSource(path).get('recipient_key');
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toMatchObject({
      name: 'SecretUnavailableError',
      fault: 'malformed',
      message: expect.stringContaining(path),
    });
    await expect(reading).rejects.not.toThrow('hunter2');
  });

  it('can be repaired without a restart', async () => {
    await writeFile(path, '{');
    const source = createSecretsFileSource(path);
    await expect(source.get('recipient_key')).rejects.toThrow();
    await writeFile(path, JSON.stringify({ recipient_key: key }));
    expect(await source.get('recipient_key')).toBe(key);
  });
});
