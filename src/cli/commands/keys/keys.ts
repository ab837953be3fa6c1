import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ApiKey, DEFAULT_RATE_LIMIT, newApiKey, SCOPES, type Scope } from '../../../adapters/api-keys/api-key.ts';
import { type ApiKeyStore, createApiKeyStore } from '../../../adapters/api-keys/api-key-store.ts';
import { parseCount, parseDuration, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { type CliContext, keyNotFound, onDeployment, type Session } from '../../session/session.ts';

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

function keyStoreOf({ dynamodb, deployment }: Session) {
  return createApiKeyStore(dynamodb, deployment.tables.api_keys);
}

/**
 * Makes a key, stores its hash, and shows the key. On stdout the key is alone on its line, so that it can be piped into
 * a secret.
 */
async function issueKey(session: Session, rest: Omit<ApiKey, 'key_id' | 'secret_hash'>): Promise<void> {
  const { key_id, key, secret_hash } = newApiKey();
  const { terminal, json } = session;
  await keyStoreOf(session).create({ ...rest, key_id, secret_hash });
  if (!json) terminal.say(`Key ${key_id} of ${rest.tenant_id}. Store it now: it is not shown again.\n`);
  terminal.print(`${json ? JSON.stringify({ key_id, key }) : key}\n`);
}
