import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ApiKey, DEFAULT_RATE_LIMIT, newApiKey, SCOPES, type Scope } from '../../../adapters/api-keys/api-key.ts';
import { createApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import { count, duration, id } from '../../../terminal/option-values.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface CreateOptions {
  readonly tenant: string;
  readonly scope: readonly Scope[];
  readonly expires?: number;
  readonly rateLimit?: number;
  readonly description?: string;
}

export function addKeysCreate(keys: Command, context: CliContext): void {
  const command = keys
    .command('create')
    .requiredOption('--tenant <ID>', 'whose notifications it may hand over and see', id)
    .addOption(
      new Option('--scope <SCOPE>', `what it may do: ${SCOPES.join(', ')}; give it once for each`)
        .argParser(addScope)
        .makeOptionMandatory(),
    )
    .option('--expires <DURATION>', 'when it stops working, such as 90d; without it never', duration)
    .option('--rate-limit <N>', `requests a second; without it ${DEFAULT_RATE_LIMIT}`, count)
    .option('--description <TEXT>', 'who uses it; shown by `keys list`')
    .description('make an API key; it is shown this once, and only its hash is stored')
    .addHelpText(
      'after',
      `
send hands notifications over, read looks at them, operate has them retried.

Example:
  npm run ops -- keys create --tenant TENANT001 --scope send --scope read --expires 90d`,
    );
  onDeployment<CreateOptions>(command, context, create);
}

function addScope(text: string, before: readonly Scope[] = []): Scope[] {
  const scope = SCOPES.find((known) => known === text);
  if (scope === undefined) throw new InvalidArgumentError(`It must be one of ${SCOPES.join(', ')}.`);
  return [...new Set([...before, scope])];
}

async function create(
  session: Session,
  { tenant, scope, expires, rateLimit, description }: CreateOptions,
): Promise<number> {
  const now = session.clock();
  await issue(session, {
    tenant_id: tenant,
    scopes: scope,
    created_at: now.toISOString(),
    ...(expires !== undefined && { expires_at: new Date(now.getTime() + expires).toISOString() }),
    ...(rateLimit !== undefined && { rate_limit: rateLimit }),
    ...(description !== undefined && { description }),
  });
  return 0;
}

/** Stores a new key's hash and shows the key: on stdout, alone on its line, so that it can be piped into a secret. */
export async function issue(session: Session, rest: Omit<ApiKey, 'key_id' | 'secret_hash'>): Promise<void> {
  const { key_id, key, secret_hash } = newApiKey();
  const { dynamodb, deployment, terminal, json } = session;
  await createApiKeyStore(dynamodb, deployment.tables.api_keys).create({ ...rest, key_id, secret_hash });
  if (json) terminal.print(`${JSON.stringify({ key_id, key })}\n`);
  else {
    terminal.say(`Key ${key_id} of ${rest.tenant_id}. Keep it now: it is not shown again.\n`);
    terminal.print(`${key}\n`);
  }
}
