import type { Command } from 'commander';
import { printResult } from '../../../terminal/output.ts';
import { keyNotFound } from '../../session/not-found.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { keyStoreOf } from './key-store.ts';

export function addKeysRevoke(keys: Command, context: CliContext): void {
  const command = keys
    .command('revoke')
    .argument('<KEY_ID>', 'the key')
    .description('revoke an API key; the API refuses it within a minute')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys revoke 4f1d9c0b7a2e6358');
  onDeployment(command, context, (session, _, [key_id = '']) => revoke(session, key_id));
}

async function revoke(session: Session, key_id: string): Promise<number> {
  const revoked_at = session.clock().toISOString();
  if (!(await keyStoreOf(session).end(key_id, { revoked_at }))) throw keyNotFound(key_id);
  printResult(session, { key_id, revoked_at }, () => `${key_id} is revoked.\n`);
  return 0;
}
