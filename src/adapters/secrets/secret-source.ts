import { readFile, stat } from 'node:fs/promises';
import * as v from 'valibot';
import { ExplainedError } from '../../core/model/problem.ts';
import { jsonObject } from '../../core/model/text.ts';

export interface SecretSource {
  /**
   * @param options.fresh reads past every cache
   * @returns undefined when there is no such secret
   * @throws SecretUnavailableError
   */
  get(name: string, options?: { readonly fresh?: boolean }): Promise<string | undefined>;
}

/** Reads a secret that the function needs. @param purpose of the function, for people: `for tokens` */
export function requiredSecret(secrets: SecretSource, name: string, purpose = ''): () => Promise<string> {
  return async () => {
    const value = await secrets.get(name);
    if (value !== undefined) return value;
    throw new Error(`The secret ${name} does not exist; the function needs it${purpose && ` ${purpose}`}.`);
  };
}

/** Why a secret could not be read: access is denied, the file is malformed, or the source does not answer now. */
export type SecretFault = 'denied' | 'malformed' | 'temporary';

/** A secret could not be read. The message names the secret and the reason, never the value. */
export class SecretUnavailableError extends ExplainedError {
  override readonly name = 'SecretUnavailableError';
  readonly fault: SecretFault;

  constructor(fault: SecretFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** What is wrong with a secret, field by field. Unlike Valibot's messages it never quotes a value. */
export function describeIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues.map((issue) => `${v.getDotPath(issue) ?? 'the whole'} ${faultOf(issue)}`).join('; ');
}

function faultOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'validation') return issue.message;
  if (issue.expected === 'never') return 'is not a known field';
  return issue.received === 'undefined' ? 'is missing' : `must be ${issue.expected ?? 'of another type'}`;
}

const MAX_REMEMBERED = 500;

/**
 * Makes a call at most once per key and period, also when it fails: a source in trouble is not asked more often.
 * Callers within the period wait for the call that was made.
 * @param now milliseconds
 */
export function atMostOncePer(
  run: (key: string) => Promise<void>,
  period_ms: number,
  now: () => number,
): (key: string) => Promise<void> {
  const made = new Map<string, { readonly at: number; readonly done: Promise<void> }>();
  return (key) => {
    const last = made.get(key);
    if (last !== undefined && now() - last.at < period_ms) return last.done;
    const done = run(key);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(key, { at: now(), done });
    return done;
  };
}

/** The name of an integration's secret is this prefix and the integration_config_id. */
export const FILE_INTEGRATION_PREFIX = 'integrations/';

const fileShape = v.object({
  integrations: v.optional(v.record(v.string(), v.looseObject({})), {}),
  recipient_key: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => Buffer.from(text, 'base64').length === 32, 'must be the base64 of 32 bytes'),
    ),
  ),
  recipient_hash_key: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'))),
  unsubscribe_key: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'))),
  token_key: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'))),
});
type SecretsFile = v.InferOutput<typeof fileShape>;
const KEYS = ['recipient_key', 'recipient_hash_key', 'unsubscribe_key', 'token_key'] as const;

/** Pause between two looks at the file's time of change, which is looked at on every send. */
const LOOK_MS = 1_000;

/**
 * Secrets from a JSON file, for the local runtime: `integrations/<integration_config_id>`, and
 * the keys of KEYS. The file is read on first use, for every fresh value, and within a second
 * after it changed: who repairs a credential redrives at once. A missing file holds no secrets.
 */
export function createSecretsFileSource(path: string, now: () => number = Date.now): SecretSource {
  let content: Promise<SecretsFile> | undefined;
  let changed = 0;
  let looked = Number.NEGATIVE_INFINITY;
  async function forgetIfChanged(): Promise<void> {
    if (now() - looked < LOOK_MS) return;
    looked = now();
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
    if (mtimeMs !== changed) content = undefined;
    changed = mtimeMs;
  }
  return {
    async get(name, { fresh = false } = {}) {
      await forgetIfChanged();
      if (fresh) content = undefined;
      content ??= readSecretsFile(path).catch((error: unknown) => {
        content = undefined;
        throw error;
      });
      return find(await content, name);
    },
  };
}

function find(file: SecretsFile, name: string): string | undefined {
  const key = KEYS.find((one) => one === name);
  if (key !== undefined) return file[key];
  const id = name.startsWith(FILE_INTEGRATION_PREFIX) ? name.slice(FILE_INTEGRATION_PREFIX.length) : undefined;
  if (id === undefined || !Object.hasOwn(file.integrations, id)) return undefined;
  return JSON.stringify(file.integrations[id]);
}

async function readSecretsFile(path: string): Promise<SecretsFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { integrations: {} };
    throw new SecretUnavailableError('malformed', `The secrets file ${path} cannot be read.`, { cause: error });
  }
  const value = jsonObject(text);
  if (value === undefined) {
    throw new SecretUnavailableError('malformed', `The secrets file ${path} is malformed: it is not a JSON object.`);
  }
  const parsed = v.safeParse(fileShape, value);
  if (parsed.success) return parsed.output;
  const faults = describeIssues(parsed.issues);
  throw new SecretUnavailableError('malformed', `The secrets file ${path} is malformed: ${faults}.`);
}
