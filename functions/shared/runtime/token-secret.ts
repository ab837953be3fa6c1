import { createSecretsFileSource, requiredSecret } from '../../../src/adapters/secrets/secret-source.ts';
import { createSecretsManagerSource } from '../../../src/adapters/secrets/secrets-manager.ts';

/** The secret that signs the tokens of web pages, cached for five minutes. It is first read when a token needs it. */
export function tokenSecret({
  TOKEN_SECRET,
  LOCAL_SECRETS_FILE,
}: Partial<Readonly<Record<'TOKEN_SECRET' | 'LOCAL_SECRETS_FILE', string | undefined>>>): () => Promise<string> {
  const local = LOCAL_SECRETS_FILE !== undefined;
  const secrets = local ? createSecretsFileSource(LOCAL_SECRETS_FILE) : createSecretsManagerSource();
  const name = local ? 'token_key' : (TOKEN_SECRET ?? 'TOKEN_SECRET (not set)');
  return requiredSecret(secrets, name, 'for tokens');
}
