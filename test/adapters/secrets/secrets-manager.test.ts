import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SecretSource } from '../../../src/adapters/secrets/secret-source.ts';
import { createSecretsManagerSource } from '../../../src/adapters/secrets/secrets-manager.ts';
import { SECRET_CALL_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

let server: Loopback;
let client: SecretsManagerClient;
let source: SecretSource;
let now: number;
beforeEach(async () => {
  server = await startLoopback();
  client = new SecretsManagerClient({
    endpoint: server.url,
    region: 'us-east-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  now = 0;
  source = createSecretsManagerSource({ client, now: () => now });
  holds('first');
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

const holds = (value: string) => {
  server.answer = replying(200, JSON.stringify({ Name: 'p/IC001', SecretString: value }));
};
const fails = (name: string, status = 400) => {
  server.answer = replying(status, JSON.stringify({ __type: name, message: 'the message' }));
};

describe('Secrets Manager', () => {
  it('is asked for a secret once, until a fresh value is requested', async () => {
    expect(await source.get('p/IC001')).toBe('first');
    holds('second');
    expect(await source.get('p/IC001')).toBe('first');
    expect(await source.get('p/IC001', { fresh: true })).toBe('second');
    expect(await source.get('p/IC001')).toBe('second');
    expect(server.received.map(({ body }) => JSON.parse(body))).toEqual(Array(2).fill({ SecretId: 'p/IC001' }));
  });

  it('is asked once by a whole batch', async () => {
    expect(await Promise.all(Array.from({ length: 10 }, () => source.get('p/IC001')))).toEqual(Array(10).fill('first'));
    expect(server.received).toHaveLength(1);
  });

  it('that fails leaves the value that was read last, and is not asked again for half a minute', async () => {
    await source.get('p/IC001');
    fails('InternalServiceError', 500);
    expect(await source.get('p/IC001', { fresh: true })).toBe('first');
    const asked = server.received.length;
    now += 29_999;
    expect(await source.get('p/IC001')).toBe('first');
    expect(server.received).toHaveLength(asked);
    fails('AccessDeniedException');
    await expect(source.get('p/IC001', { fresh: true })).rejects.toMatchObject({ fault: 'denied' });
  });

  it('that does not answer is given up within seconds', async () => {
    client.destroy();
    vi.stubEnv('AWS_ENDPOINT_URL', server.url);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b');
    server.answer = () => {};
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let failed: unknown;
      createSecretsManagerSource()
        .get('p/IC001')
        .catch((error: unknown) => {
          failed = error;
        });
      const moment = () => new Promise((resolve) => setImmediate(resolve));
      for (let waits = 0; waits < 500 && server.received.length === 0; waits++) await moment();
      let waited = 0;
      for (; failed === undefined && waited < 30_000; waited += 100) {
        await vi.advanceTimersByTimeAsync(100);
        for (let turns = 0; turns < 20; turns++) await moment();
      }
      expect(failed).toMatchObject({ fault: 'temporary' });
      expect(waited).toBeLessThanOrEqual(SECRET_CALL_MS + 200);
    } finally {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    }
  });

  it('is asked again for a missing secret only after a minute, or for a fresh value', async () => {
    fails('ResourceNotFoundException');
    expect(await source.get('p/IC001')).toBeUndefined();
    holds('created');
    expect(await source.get('p/IC001')).toBeUndefined();
    expect(server.received).toHaveLength(1);
    now += 60_000;
    expect(await source.get('p/IC001')).toBe('created');
  });

  it.each([
    ['AccessDeniedException', 400, 'denied'],
    ['DecryptionFailure', 400, 'denied'],
    ['InvalidRequestException', 400, 'malformed'],
    ['InternalServiceError', 500, 'temporary'],
    ['ThrottlingException', 400, 'temporary'],
  ])('answering %s makes the secret unavailable: %s', async (name, status, fault) => {
    fails(name, status);
    await expect(source.get('p/IC001')).rejects.toMatchObject({
      name: 'SecretUnavailableError',
      fault,
      message: `The secret p/IC001 cannot be read: Secrets Manager answered ${name}.`,
    });
  });
});
