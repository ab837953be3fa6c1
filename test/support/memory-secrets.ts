import {
  createIntegrationCredentials,
  type IntegrationCredentials,
} from '../../src/adapters/secrets/integration-credentials.ts';
import type { SecretSource } from '../../src/adapters/secrets/secret-source.ts';

/** A secret source whose secrets a test can change. It counts fresh reads, because each costs a request. */
export interface MemorySecrets extends SecretSource {
  readonly secrets: Map<string, string>;
  fresh: number;
}

export function createMemorySecrets(secrets: Readonly<Record<string, unknown>> = {}): MemorySecrets {
  const cached = new Map<string, string | undefined>();
  const source: MemorySecrets = {
    secrets: new Map(Object.entries(secrets).map(([name, value]) => [name, JSON.stringify(value)])),
    fresh: 0,
    async get(name, { fresh = false } = {}) {
      if (fresh) source.fresh += 1;
      if (fresh || !cached.has(name)) cached.set(name, source.secrets.get(name));
      return cached.get(name);
    },
  };
  return source;
}

export function credentialsOf(secrets: Readonly<Record<string, unknown>> = {}): IntegrationCredentials {
  return createIntegrationCredentials(createMemorySecrets(secrets), { prefix: '' });
}
