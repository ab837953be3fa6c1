import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SecretSource } from '../../../src/adapters/secrets/secret-source.ts';
import { createSecretsManagerSource } from '../../../src/adapters/secrets/secrets-manager.ts';
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
