import type { Command } from 'commander';
import { createApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

export function addKeysRevoke(keys: Command, context: CliContext): void {
  const command = keys
    .command('revoke')
    .argument('<KEY_ID>', 'the key')
    .description('end an API key; within a minute nobody accepts it any more')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys revoke 4f1d9c0b7a2e6358');
  onDeployment(command, context, (session, _, [key_id = '']) => revoke(session, key_id));
}

async function revoke({ dynamodb, deployment, clock, json, terminal }: Session, key_id: string): Promise<number> {
  const store = createApiKeyStore(dynamodb, deployment.tables.api_keys);
  const revoked_at = clock().toISOString();
  if (!(await store.end(key_id, { revoked_at }))) throw unknownKey(key_id);
  terminal.print(json ? `${JSON.stringify({ key_id, revoked_at })}\n` : `${key_id} is revoked.\n`);
  return 0;
}

export function unknownKey(key_id: string): OperatorError {
  return new OperatorError(`There is no key ${key_id} that is not revoked: see \`npm run ops -- keys list\`.`);
}
