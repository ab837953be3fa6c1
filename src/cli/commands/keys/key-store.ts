import { type ApiKey, newApiKey } from '../../../adapters/api-keys/api-key.ts';
import { createApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import type { Session } from '../../session/session.ts';

export function keyStoreOf({ dynamodb, deployment }: Session) {
  return createApiKeyStore(dynamodb, deployment.tables.api_keys);
}

/**
 * Makes a key, stores its hash, and shows the key. On stdout the key is alone on its line, so that it can be piped into
 * a secret.
 */
export async function issueKey(session: Session, rest: Omit<ApiKey, 'key_id' | 'secret_hash'>): Promise<void> {
  const { key_id, key, secret_hash } = newApiKey();
  const { terminal, json } = session;
  await keyStoreOf(session).create({ ...rest, key_id, secret_hash });
  if (!json) terminal.say(`Key ${key_id} of ${rest.tenant_id}. Store it now: it is not shown again.\n`);
  terminal.print(`${json ? JSON.stringify({ key_id, key }) : key}\n`);
}
