import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_RATE_LIMIT, SCOPES, type Scope } from '../../../adapters/api-keys/api-key.ts';
import { parseCount, parseDuration, parseId } from '../../../terminal/option-values.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { issueKey } from './key-store.ts';

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
    .requiredOption('--tenant <ID>', 'the tenant whose notifications the key may hand over and see', parseId)
    .addOption(
      new Option('--scope <SCOPE>', `what the key may do: ${SCOPES.join(', ')}; repeat the option for several`)
        .argParser(addScope)
        .makeOptionMandatory(),
    )
    .option('--expires <DURATION>', 'how long the key works, such as 90d; forever by default', parseDuration)
    .option('--rate-limit <N>', `requests per second; ${DEFAULT_RATE_LIMIT} by default`, parseCount)
    .option('--description <TEXT>', 'who uses the key; `keys list` shows it')
    .description('make an API key; the key is shown only once, and only its hash is stored')
    .addHelpText(
      'after',
      `
A key with send hands notifications over, with read sees them, and with operate has them retried. With newsletters:read
it sees newsletters, members and e-mails, with newsletters:write it changes and sends them.

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
  await issueKey(session, {
    tenant_id: tenant,
    scopes: scope,
    created_at: now.toISOString(),
    ...(expires !== undefined && { expires_at: new Date(now.getTime() + expires).toISOString() }),
    ...(rateLimit !== undefined && { rate_limit: rateLimit }),
    ...(description !== undefined && { description }),
  });
  return 0;
}
