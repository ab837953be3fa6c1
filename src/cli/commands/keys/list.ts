import type { Command } from 'commander';
import type { ApiKey } from '../../../adapters/api-keys/api-key.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { keyStoreOf } from './key-store.ts';

interface ListOptions {
  readonly tenant?: string;
}

export function addKeysList(keys: Command, context: CliContext): void {
  const command = keys
    .command('list')
    .option('--tenant <ID>', 'only the keys of this tenant', parseId)
    .description('list the API keys and what each may do; the keys themselves are stored nowhere')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys list --tenant TENANT001');
  onDeployment<ListOptions>(command, context, list);
}

async function list(session: Session, { tenant }: ListOptions): Promise<number> {
  const { clock, terminal } = session;
  const found = await keyStoreOf(session).list(tenant);
  const shown = found.map(({ secret_hash: _, ...key }) => ({ ...key, state: stateOf(key, clock()) }));
  printResult(session, { keys: shown }, () =>
    table<(typeof shown)[number]>(
      [
        { title: 'key_id', of: ({ key_id }) => key_id },
        { title: 'tenant', of: ({ tenant_id }) => tenant_id },
        { title: 'scopes', of: ({ scopes }) => scopes.join(' ') },
        { title: 'state', of: ({ state }) => state },
        { title: 'created', of: ({ created_at }) => created_at },
        { title: 'ends', of: ({ revoked_at, expires_at }) => revoked_at ?? expires_at },
        { title: 'per second', of: ({ rate_limit }) => rate_limit },
        { title: 'description', of: ({ description }) => description },
      ],
      shown,
      terminal.colors,
    ),
  );
  return 0;
}

function stateOf({ revoked_at, expires_at }: Pick<ApiKey, 'revoked_at' | 'expires_at'>, now: Date) {
  if (revoked_at !== undefined) return 'revoked';
  return expires_at !== undefined && Date.parse(expires_at) <= now.getTime() ? 'expired' : 'valid';
}
