import { InvalidArgumentError } from 'commander';
import { DEFAULT_RATE_LIMIT } from '../../../adapters/api-keys/api-key.ts';
import type { CreatedKey } from '../../../application/contract/keys.ts';
import { createKey, listKeys, revokeKey, rotateKey } from '../../../application/keys.ts';
import { SCOPES, type Scope } from '../../../core/intake/api-scopes.ts';
import { DAY_MS } from '../../../core/model/time.ts';
import { required, value } from '../../../terminal/command.ts';
import { parseCount, parseDuration, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { onDeployment, type Session } from '../../session/session.ts';

export const addKeysCreate = onDeployment({
  name: 'create',
  says: 'create an API key; it is shown only once, and only its hash is stored',
  options: {
    '--tenant <ID>': required(value('the tenant that the key belongs to', parseId)),
    '--scope <SCOPE>': required(
      value(`what the key may do: ${SCOPES.join(', ')}; repeat the option for several`, addScope),
    ),
    '--expires <DURATION>': value('how long the key works, such as 90d; forever by default', parseDuration),
    '--rate-limit <N>': value(`requests per second; ${DEFAULT_RATE_LIMIT} by default`, parseCount),
    '--description <TEXT>': 'who uses the key; `keys list` shows it',
  },
  help: `
A key with send hands notifications over, with read sees them, and with operate has them retried. With newsletters:read
it sees newsletters, members and mailings, with newsletters:write it changes and sends them.

Example:
  npm run ops -- keys create --tenant TENANT001 --scope send --scope read --expires 90d`,
  async run(session, { tenant, scope, expires, rateLimit, description }) {
    const asked = { tenant, scopes: scope, lifetime_ms: expires, rate_limit: rateLimit, description };
    showKey(session, tenant, await session.decide(createKey(asked, session)));
  },
});

function addScope(text: string, before: readonly Scope[] = []): readonly Scope[] {
  const scope = SCOPES.find((known) => known === text);
  if (scope === undefined) throw new InvalidArgumentError(`It must be one of ${SCOPES.join(', ')}.`);
  return [...new Set([...before, scope])];
}

/** On stdout the key is alone on its line, so that it can be piped into a secret. */
function showKey({ terminal, json }: Session, tenant: string, { key_id, key }: CreatedKey): void {
  if (!json) terminal.say(`Key ${key_id} of ${tenant}. Store it now: it is not shown again.\n`);
  terminal.print(`${json ? JSON.stringify({ key_id, key }) : key}\n`);
}

export const addKeysList = onDeployment({
  name: 'list',
  says: 'list the API keys and what each may do, never the keys themselves',
  options: { '--tenant <ID>': value('only the keys of this tenant', parseId) },
  help: '\nExample:\n  npm run ops -- keys list --tenant TENANT001',
  async run(session, { tenant }) {
    const keys = await listKeys(tenant, session);
    printResult(session, { keys }, () => {
      if (keys.length === 0) return `${tenant ?? 'The stage'} has no keys.\n`;
      return table(keys, [
        'key_id',
        ['tenant', 'tenant_id'],
        ['scopes', ({ scopes }) => scopes.join(' ')],
        'state',
        ['created', 'created_at', 'wide'],
        ['ends', ({ revoked_at, expires_at }) => revoked_at ?? expires_at],
        ['per second', 'rate_limit', 'wide'],
        'description',
      ]);
    });
  },
});

export const addKeysRotate = onDeployment({
  name: 'rotate',
  says: 'create a key with the same rights; the old one works for another day',
  args: { '<KEY_ID>': 'the key to replace' },
  options: {
    '--keep-old <DURATION>': value('how long the old key still works, such as 2h; 1d by default', parseDuration),
  },
  help: '\nExample:\n  npm run ops -- keys rotate 4f1d9c0b7a2e6358 --keep-old 2h',
  async run(session, { keepOld = DAY_MS }, [key_id = '']) {
    const { tenant_id, old_ends_at, ...made } = await session.decide(rotateKey(key_id, keepOld, session));
    showKey(session, tenant_id, made);
    session.terminal.say(
      old_ends_at !== undefined
        ? `The old key ${key_id} works until ${old_ends_at}.\n`
        : `The old key ${key_id} was revoked in the meantime and no longer works. The new key works: revoke it too if it should not.\n`,
    );
  },
});

export const addKeysRevoke = onDeployment({
  name: 'revoke',
  says: 'revoke an API key; the API refuses it within a minute',
  args: { '<KEY_ID>': 'the key' },
  help: '\nExample:\n  npm run ops -- keys revoke 4f1d9c0b7a2e6358',
  async run(session, _, [key_id = '']) {
    printResult(session, await session.decide(revokeKey(key_id, session)), () => `${key_id} is revoked.\n`);
  },
});
