import type { SecretsProvider } from '@aws-lambda-powertools/parameters/secrets';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SECRET_CALL_MS } from '../../core/delivery/policy/attempt-times.ts';
import { type SecretFault, type SecretSource, SecretUnavailableError } from './secret-source.ts';

const CACHE_SECONDS = 300;
/** Milliseconds until a missing secret is read again, so that a new secret takes effect soon. */
const MISSING_MS = 60_000;
const MAX_REMEMBERED = 1_000;
/** Milliseconds for which the value that was read last goes on being used before Secrets Manager is asked again. */
const STALE_MS = 30_000;
/** Two tries and the pause between them. Without limits, one silent connection would take the time of a batch. */
const TRIES = 2;
const TRY_MS = SECRET_CALL_MS / TRIES - 100;
const CLIENT_CONFIG = {
  maxAttempts: TRIES,
  requestHandler: {
    connectionTimeout: 1_000,
    requestTimeout: TRY_MS,
    throwOnRequestTimeout: true,
    socketTimeout: TRY_MS,
  },
};

interface SecretsManagerOptions {
  /** The SDK's default client unless given. */
  readonly client?: SecretsManagerClient;
  readonly now?: () => number;
}

/**
 * Reads Secrets Manager through a cache of five minutes. Simultaneous calls for one secret, as a batch makes them, are
 * one request. While Secrets Manager does not answer, the value that was read last is used.
 */
export function createSecretsManagerSource({ client, now = Date.now }: SecretsManagerOptions = {}): SecretSource {
  const underWay = new Map<string, Promise<string | undefined>>();
  const missingUntil = new Map<string, number>();
  const last = new Map<string, string>();
  const staleUntil = new Map<string, number>();
  let provider: Promise<SecretsProvider> | undefined;

  async function read(name: string, fresh: boolean): Promise<string | undefined> {
    provider ??= loadProvider(client);
    try {
      const value = await (await provider).get(name, { maxAge: CACHE_SECONDS, forceFetch: fresh });
      missingUntil.delete(name);
      staleUntil.delete(name);
      const text = typeof value === 'string' ? value : value && new TextDecoder().decode(value);
      if (text !== undefined) remember(last, name, text);
      return text;
    } catch (error) {
      if (causeName(error) !== 'ResourceNotFoundException') return staleOf(name, unavailable(name, error));
      last.delete(name);
      remember(missingUntil, name, now() + MISSING_MS);
      return undefined;
    }
  }

  function staleOf(name: string, error: SecretUnavailableError): string {
    const text = last.get(name);
    if (error.fault !== 'temporary' || text === undefined) throw error;
    remember(staleUntil, name, now() + STALE_MS);
    return text;
  }

  return {
    get(name, { fresh = false } = {}) {
      if (!fresh && now() < (missingUntil.get(name) ?? 0)) return Promise.resolve(undefined);
      if (!fresh && now() < (staleUntil.get(name) ?? 0)) return Promise.resolve(last.get(name));
      const key = `${fresh}:${name}`;
      const reading = underWay.get(key) ?? read(name, fresh).finally(() => underWay.delete(key));
      underWay.set(key, reading);
      return reading;
    },
  };
}

/** Loaded on first use: most sandboxes never need a secret, and the SDK client is large. */
async function loadProvider(client: SecretsManagerClient | undefined): Promise<SecretsProvider> {
  const { SecretsProvider: Provider } = await import('@aws-lambda-powertools/parameters/secrets');
  return new Provider(client ? { awsSdkV3Client: client } : { clientConfig: CLIENT_CONFIG });
}

function remember<T>(values: Map<string, T>, name: string, value: T): void {
  if (values.size >= MAX_REMEMBERED) values.clear();
  values.set(name, value);
}

const FAULT_OF: Readonly<Record<string, SecretFault>> = {
  AccessDeniedException: 'denied',
  DecryptionFailure: 'denied',
  // The secret is scheduled for deletion or has no value yet.
  InvalidRequestException: 'malformed',
  InvalidParameterException: 'malformed',
  ValidationException: 'malformed',
};

function unavailable(name: string, error: unknown): SecretUnavailableError {
  const cause = causeName(error);
  return new SecretUnavailableError(
    FAULT_OF[cause] ?? 'temporary',
    `The secret ${name} cannot be read: Secrets Manager answered ${cause}.`,
    { cause: error },
  );
}

/** Powertools wraps the errors of the SDK. */
function causeName(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error ? cause.name : 'an unknown error';
}
