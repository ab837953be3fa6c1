import type { Command } from 'commander';
import { createApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import { duration } from '../../../terminal/option-values.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { issue } from './create.ts';
import { unknownKey } from './revoke.ts';

interface RotateOptions {
  readonly keepOld: number;
}

const DAY_MS = 86_400_000;

export function addKeysRotate(keys: Command, context: CliContext): void {
  const command = keys
    .command('rotate')
    .argument('<KEY_ID>', 'the key to replace')
    .option('--keep-old <DURATION>', 'how long the old key still works, such as 2h', duration, DAY_MS)
    .description('make a key that may do the same, and let the old one end a day later')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys rotate 4f1d9c0b7a2e6358 --keep-old 2h');
  onDeployment<RotateOptions>(command, context, (session, options, [key_id = '']) => rotate(session, options, key_id));
}

async function rotate(session: Session, { keepOld }: RotateOptions, key_id: string): Promise<number> {
  const { dynamodb, deployment, clock, terminal } = session;
  const store = createApiKeyStore(dynamodb, deployment.tables.api_keys);
  const old = await store.get(key_id);
  if (old === undefined || old.revoked_at !== undefined) throw unknownKey(key_id);
  const now = clock().getTime();
  const { key_id: _, secret_hash: __, expires_at, ...same } = old;
  // A key that ends anyway does not live longer by being rotated, nor does its successor end with it.
  const end = new Date(Math.min(now + keepOld, Date.parse(expires_at ?? '9999-12-31')));
  const lifetime = expires_at === undefined ? undefined : Date.parse(expires_at) - Date.parse(old.created_at);
  await issue(session, {
    ...same,
    created_at: new Date(now).toISOString(),
    ...(lifetime !== undefined && { expires_at: new Date(now + lifetime).toISOString() }),
  });
  const ends = await store.end(key_id, { expires_at: end.toISOString() });
  terminal.say(
    ends
      ? `The old key ${key_id} works until ${end.toISOString()}.\n`
      : `The old key ${key_id} was revoked meanwhile and works no longer. The new one does: if it should not, revoke it too.\n`,
  );
  return 0;
}
