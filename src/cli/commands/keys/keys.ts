import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_RATE_LIMIT, SCOPES, type Scope } from '../../../adapters/api-keys/api-key.ts';
import {
  createKey,
  listKeys,
  type MadeKey,
  revokeKey,
  rotateKey,
  type ShownKey,
} from '../../../operator-service/keys.ts';
import { parseCount, parseDuration, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
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
it sees newsletters, members and mailings, with newsletters:write it changes and sends them.

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

async function create(session: Session, options: CreateOptions): Promise<number> {
  const { tenant, scope, expires, rateLimit, description } = options;
  const asked = { tenant, scopes: scope, lifetime_ms: expires, rate_limit: rateLimit, description };
  showKey(session, tenant, await createKey(asked, session, session.decide));
  return 0;
}

/** On stdout the key is alone on its line, so that it can be piped into a secret. */
function showKey({ terminal, json }: Session, tenant: string, { key_id, key }: MadeKey): void {
  if (!json) terminal.say(`Key ${key_id} of ${tenant}. Store it now: it is not shown again.\n`);
  terminal.print(`${json ? JSON.stringify({ key_id, key }) : key}\n`);
}

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
  const shown = await listKeys(tenant, session);
  printResult(session, { keys: shown }, () =>
    table<ShownKey>(
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
      session.terminal.colors,
    ),
  );
  return 0;
}

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
  const { tenant_id, old_ends_at, ...made } = await rotateKey(key_id, keepOld, session, session.decide);
  showKey(session, tenant_id, made);
  session.terminal.say(
    old_ends_at !== undefined
      ? `The old key ${key_id} works until ${old_ends_at}.\n`
      : `The old key ${key_id} was revoked in the meantime and no longer works. The new key works: revoke it too if it should not.\n`,
  );
  return 0;
}

export function addKeysRevoke(keys: Command, context: CliContext): void {
  const command = keys
    .command('revoke')
    .argument('<KEY_ID>', 'the key')
    .description('revoke an API key; the API refuses it within a minute')
    .addHelpText('after', '\nExample:\n  npm run ops -- keys revoke 4f1d9c0b7a2e6358');
  onDeployment(command, context, (session, _, [key_id = '']) => revoke(session, key_id));
}

async function revoke(session: Session, key_id: string): Promise<number> {
  printResult(session, await revokeKey(key_id, session, session.decide), () => `${key_id} is revoked.\n`);
  return 0;
}
