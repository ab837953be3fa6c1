import * as v from 'valibot';
import type { Refused, RetryTerms } from '../../core/delivery/ports.ts';
import { type OwnFault, type ProviderErrorType, refusedByUs } from '../../core/model/error-types.ts';
import { jsonObject } from '../../core/model/text.ts';
import {
  atMostOncePer,
  describeIssues,
  type SecretFault,
  type SecretSource,
  SecretUnavailableError,
} from './secret-source.ts';

interface CredentialOwner {
  readonly tenant_id: string;
  readonly integration_config_id?: string;
  readonly chosen_by_tenant?: true;
}

type CredentialShape<T> = v.GenericSchema<unknown, T>;

/** `undefined` when the owner names no integration or, with `optional`, when the integration has no secret. */
type CredentialResult<T> = { readonly ok: true; readonly credential: T | undefined } | Refused;

export interface IntegrationCredentials {
  /**
   * Loads the credential of the owner's integration. A fault concerns only this notification and is returned as its
   * refusal: AUTH_FAILED for a missing or malformed secret, PERMISSION_DENIED for a secret of another tenant or one
   * that our role cannot read, AUTH_TEMPORARY for a source that does not answer. If the tenant chose the integration,
   * a missing secret and one of another tenant are reported alike, so that nobody learns by trying which integrations
   * others have.
   */
  load<T>(shape: CredentialShape<T>, owner: CredentialOwner, options?: LoadOptions): Promise<CredentialResult<T>>;
  /**
   * Reads the owner's secret past every cache, at most once per integration in REREAD_MS.
   * @param owner the object that the last `load` was for
   * @returns whether the next `load` gives it another secret than the last one
   */
  refresh(owner: CredentialOwner): Promise<boolean>;
  /**
   * False when `load` certainly refuses because the secret belongs to others. It calls no provider and never rejects.
   */
  mayUse(owner: CredentialOwner): Promise<boolean>;
  /** The terms under `retry` of the owner's secret. It calls no provider and never rejects. */
  retryTerms(owner: CredentialOwner): Promise<RetryTerms | undefined>;
}

/** @param optional a missing secret is no fault, unless the tenant chose the integration */
type LoadOptions = { readonly optional?: boolean };

/** The characters that the name of a secret may have in Secrets Manager. The table allows ids of 50 characters. */
const CONFIG_ID = /^[\w+=.@-]{1,100}$/;
const MAX_REMEMBERED = 500;
/**
 * Milliseconds between two reads past the cache: many notifications of one integration may be refused at once. It is
 * shorter than a person needs to repair a secret and to redrive.
 */
const REREAD_MS = 30_000;

/** @param prefix the name of a secret is this prefix and the integration_config_id */
export function createIntegrationCredentials(
  source: SecretSource,
  { prefix }: { readonly prefix: string },
  now: () => number = Date.now,
): IntegrationCredentials {
  /** The parsed credential of each text, so that a text is parsed once. */
  const parsed = new Map<string, { text: string; shape: unknown; result: Parsed<unknown> }>();

  function parseOnce<T>(name: string, text: string, shape: CredentialShape<T>): Parsed<T> {
    const known = parsed.get(name);
    if (known?.text === text && known.shape === shape) return known.result as Parsed<T>;
    const result = parse(name, text, shape);
    if (parsed.size >= MAX_REMEMBERED) parsed.clear();
    parsed.set(name, { text, shape, result });
    return result;
  }

  /** The text of the integration's secret, and the name under which it was found or is missing. */
  async function find(id: string, { fresh = false } = {}): Promise<{ name: string; text: string | undefined }> {
    const name = `${prefix}${id}`;
    return { name, text: await source.get(name, { fresh }) };
  }

  /** The secret that the last load gave to an owner; undefined where none was found or readable. */
  const given = new WeakMap<CredentialOwner, string | undefined>();
  const readAnew = atMostOncePer((id) => asRefusal(() => find(id, { fresh: true })).then(() => {}), REREAD_MS, now);

  return {
    async load(shape, owner, { optional = false } = {}) {
      const { integration_config_id: id } = owner;
      if (id === undefined) return { ok: true, credential: undefined };
      if (!CONFIG_ID.test(id)) {
        return refused('bad_integration', 'integration_config_id cannot be the name of a secret');
      }
      const found = await asRefusal(() => find(id));
      given.set(owner, 'ok' in found ? undefined : found.text);
      if ('ok' in found) return found;
      const { name, text } = found;
      if (text === undefined) {
        if (owner.chosen_by_tenant) return notUsable(name);
        return optional ? { ok: true, credential: undefined } : refused('no_secret', `there is no secret ${name}`);
      }
      const { owned_by, result } = parseOnce(name, text, shape);
      if (isTheirs(owned_by, owner)) return result;
      if (owner.chosen_by_tenant) return notUsable(name);
      return result.ok ? refused('foreign_secret', `another tenant owns the secret ${name}`) : result;
    },

    async refresh(owner) {
      const { integration_config_id: id } = owner;
      if (id === undefined || !CONFIG_ID.test(id)) return false;
      await readAnew(id);
      const found = await asRefusal(() => find(id));
      return !('ok' in found) && found.text !== undefined && found.text !== given.get(owner);
    },

    async mayUse(owner) {
      const { integration_config_id: id } = owner;
      if (id === undefined || !CONFIG_ID.test(id)) return true;
      try {
        const { name, text } = await find(id);
        return text === undefined
          ? !owner.chosen_by_tenant
          : isTheirs(parsed.get(name)?.text === text ? parsed.get(name)?.result.owned_by : ownerIn(text), owner);
      } catch {
        // The source does not answer now. The attempt itself will find out.
        return true;
      }
    },

    async retryTerms(owner) {
      const { integration_config_id: id } = owner;
      if (id === undefined || !CONFIG_ID.test(id)) return undefined;
      try {
        const { text } = await find(id);
        if (text === undefined || !isTheirs(ownerIn(text), owner)) return undefined;
        return v.parse(terms, jsonObject(text)).retry;
      } catch {
        // The secret cannot be read, or is malformed, which `load` reports: the stage's policy holds.
        return undefined;
      }
    },
  };
}

/** `tenant_id` of a credential that every tenant may use. */
const EVERY_TENANT = '*';

function isTheirs(owned_by: string | undefined, { tenant_id, chosen_by_tenant }: CredentialOwner): boolean {
  return owned_by === undefined ? !chosen_by_tenant : owned_by === EVERY_TENANT || owned_by === tenant_id;
}

/** The refusal is the same for a missing secret, one of another tenant and one without an owner. */
function notUsable(name: string): Refused {
  return refused('not_usable', `this tenant may use no secret ${name}`);
}

interface Parsed<T> {
  readonly owned_by: string | undefined;
  readonly result: { readonly ok: true; readonly credential: T } | Refused;
}

const DAY_SECONDS = 86_400;
// Valibot's own messages quote the value.
const INTERVAL = `must be 0.001 to ${DAY_SECONDS}`;
const LIMIT = 'must be a whole number from 0 to 100';

const retryTerms = v.pipe(
  v.strictObject({
    base_interval_seconds: v.optional(
      v.pipe(v.number(), v.minValue(0.001, INTERVAL), v.maxValue(DAY_SECONDS, INTERVAL)),
    ),
    max_retries: v.optional(v.pipe(v.number(), v.integer(LIMIT), v.minValue(0, LIMIT), v.maxValue(100, LIMIT))),
  }),
  v.transform(
    ({ base_interval_seconds, max_retries }): RetryTerms => ({
      ...(base_interval_seconds !== undefined && { base_interval_ms: base_interval_seconds * 1000 }),
      ...(max_retries !== undefined && { max_retries }),
    }),
  ),
);

/** What a secret may say whatever its channel. */
const ownership = v.object({ tenant_id: v.optional(v.string()) });
const terms = v.object({ retry: v.optional(retryTerms) });

function ownerIn(text: string): string | undefined {
  const owner = v.safeParse(ownership, jsonObject(text));
  return owner.success ? owner.output.tenant_id : undefined;
}

function parse<T>(name: string, text: string, shape: CredentialShape<T>): Parsed<T> {
  const value = jsonObject(text);
  if (value === undefined) {
    return { owned_by: undefined, result: refused('bad_secret', `not a JSON object: the secret ${name}`) };
  }
  const owner = v.safeParse(ownership, value);
  const retry = v.safeParse(terms, value);
  const { retry: _, ...own } = value as Readonly<Record<string, unknown>>;
  const credential = v.safeParse(shape, own);
  const owned_by = owner.success ? owner.output.tenant_id : undefined;
  if (owner.success && retry.success && credential.success)
    return { owned_by, result: { ok: true, credential: credential.output } };
  const issues = [owner, retry, credential].flatMap((part) => part.issues ?? []);
  return { owned_by, result: refused('bad_secret', `${describeIssues(issues)}: the secret ${name}`) };
}

const TYPE_OF: Readonly<Record<SecretFault, ProviderErrorType>> = {
  denied: 'PERMISSION_DENIED',
  malformed: 'AUTH_FAILED',
  temporary: 'AUTH_TEMPORARY',
};

async function asRefusal<T>(read: () => Promise<T>): Promise<T | Refused> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SecretUnavailableError)) throw error;
    return { ok: false, error_type: TYPE_OF[error.fault], message: error.message, details: CREDENTIAL };
  }
}

const CREDENTIAL = { stage: 'credential' };

const refused = (fault: OwnFault, says: string): Refused => ({ ...refusedByUs(fault, says), details: CREDENTIAL });
