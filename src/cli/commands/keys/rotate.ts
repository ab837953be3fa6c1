import type { Command } from 'commander';
import type { ApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import { parseDuration } from '../../../terminal/option-values.ts';
import { keyNotFound } from '../../session/not-found.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { issueKey, keyStoreOf } from './key-store.ts';

interface RotateOptions {
  readonly keepOld: number;
}

const DAY_MS = 86_400_000;

export function addKeysRotate(keys: Command, context: CliContext): void {
  const command = keys
    .command('rotate')
    .argument('<KEY_ID>', 'the key to replace')
    .option('--keep-old <DURATION>', 'how long the old key still works, such as 2h', parseDuration, DAY_MS)
    .description('make a key with the same rights, and let the old key end a day later')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys rotate 4f1d9c0b7a2e6358 --keep-old 2h');
  onDeployment<RotateOptions>(command, context, (session, options, [key_id = '']) => rotate(session, options, key_id));
}

async function rotate(session: Session, { keepOld }: RotateOptions, key_id: string): Promise<number> {
  const { clock, terminal } = session;
  const store = keyStoreOf(session);
  const old = await store.get(key_id);
  if (old === undefined || old.revoked_at !== undefined) throw keyNotFound(key_id);
  const now = clock().getTime();
  const { key_id: _, secret_hash: __, expires_at, rotated_at, lifetime_ms, ...same } = old;
  // Rotation does not extend the life of the old key. The new key lives as long as the old key was meant to live.
  const end = new Date(Math.min(now + keepOld, Date.parse(expires_at ?? '9999-12-31')));
  const given = expires_at === undefined ? undefined : Date.parse(expires_at) - Date.parse(old.created_at);
  const lifetime = rotated_at === undefined ? given : lifetime_ms;
  await issueKey(session, {
    ...same,
    created_at: new Date(now).toISOString(),
    ...(lifetime !== undefined && { expires_at: new Date(now + lifetime).toISOString() }),
  });
  const was = { rotated_at: new Date(now).toISOString(), ...(lifetime !== undefined && { lifetime_ms: lifetime }) };
  const ends = await store.end(key_id, { expires_at: end.toISOString(), ...was });
  const expiry = ends ? end.toISOString() : await sooner(store, key_id);
  terminal.say(
    expiry !== undefined
      ? `The old key ${key_id} works until ${expiry}.\n`
      : `The old key ${key_id} was revoked in the meantime and no longer works. The new key works: revoke it too if it should not.\n`,
  );
  return 0;
}

/** When the old key ends, if another operator made it end sooner; undefined if it was revoked. */
async function sooner(store: ApiKeyStore, key_id: string): Promise<string | undefined> {
  const key = await store.get(key_id);
  return key?.revoked_at === undefined ? key?.expires_at : undefined;
}
