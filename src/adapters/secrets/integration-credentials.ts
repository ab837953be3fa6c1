import * as v from 'valibot';
import type { Refused } from '../../core/delivery/sender.ts';
import type { ProviderErrorType } from '../../core/model/error-types.ts';
import { describeIssues, parseJsonObject } from './describe-issues.ts';
import { type SecretFault, type SecretSource, SecretUnavailableError } from './secret-source.ts';

/** Whose credential: the delivery's own fields. */
interface CredentialOwner {
  readonly tenant_id: string;
  readonly integration_config_id?: string;
  readonly chosen_by_tenant?: true;
}

/** What a credential of a channel looks like. */
type CredentialShape<T> = v.GenericSchema<unknown, T>;

/** `undefined`: the owner names no integration, or (with `optional`) the integration has no secret. */
type CredentialResult<T> = { readonly ok: true; readonly credential: T | undefined } | Refused;

export interface IntegrationCredentials {
  /**
   * The credential of the owner's integration. Whatever is wrong with it concerns this notification alone, and comes
   * back as its refusal: missing or malformed AUTH_FAILED, another tenant's or unreadable by our role
   * PERMISSION_DENIED, source out of reach AUTH_TEMPORARY. To a tenant that chose it, one that is missing and one that is
   * not theirs are the same: nobody learns by trying which integrations others have.
   */
  load<T>(shape: CredentialShape<T>, owner: CredentialOwner, options?: LoadOptions): Promise<CredentialResult<T>>;
  /** False when `load` is sure to refuse because of whose it is. Asks the provider nothing, and never rejects. */
  mayUse(owner: CredentialOwner): Promise<boolean>;
}

interface LoadOptions {
  /** Reads past every cache. */
  readonly fresh?: boolean;
  /** A missing secret is no fault, unless a tenant named it. */
  readonly optional?: boolean;
}

/** A secret's name takes these in Secrets Manager; the table allows an id of 50 characters. */
const CONFIG_ID = /^[\w+=.@-]{1,100}$/;
const MAX_REMEMBERED = 500;

export function createIntegrationCredentials(
  source: SecretSource,
  { prefix }: { readonly prefix: string },
): IntegrationCredentials {
  /** What was parsed from which text: the parsing, unlike the reading, is the same until the text changes. */
  const parsed = new Map<string, { text: string; shape: unknown; result: Parsed<unknown> }>();

  function parseOnce<T>(name: string, text: string, shape: CredentialShape<T>): Parsed<T> {
    const known = parsed.get(name);
    if (known?.text === text && known.shape === shape) return known.result as Parsed<T>;
    const result = parse(name, text, shape);
    if (parsed.size >= MAX_REMEMBERED) parsed.clear();
    parsed.set(name, { text, shape, result });
    return result;
  }

  return {
    async load(shape, owner, { fresh = false, optional = false } = {}) {
      const { integration_config_id: id } = owner;
      if (id === undefined) return { ok: true, credential: undefined };
      if (!CONFIG_ID.test(id)) {
        return refused('AUTH_FAILED', 'integration_config_id must be 1 to 100 letters, digits or any of _+=.@-');
      }
      const name = `${prefix}${id}`;
      const text = await read(source, name, fresh);
      if (typeof text === 'object') return text;
      if (text === undefined) {
        if (owner.chosen_by_tenant) return notUsable(name);
        return optional
          ? { ok: true, credential: undefined }
          : refused('AUTH_FAILED', `there is no secret ${name}; create it with the integration's credential`);
      }
      const { owned_by, result } = parseOnce(name, text, shape);
      if (isTheirs(owned_by, owner)) return result;
      if (owner.chosen_by_tenant) return notUsable(name);
      return result.ok
        ? refused('PERMISSION_DENIED', `the secret ${name} belongs to another tenant (its tenant_id differs)`)
        : result;
    },

    async mayUse(owner) {
      const { integration_config_id: id } = owner;
      if (id === undefined || !CONFIG_ID.test(id)) return true;
      const name = `${prefix}${id}`;
      try {
        const text = await source.get(name, { fresh: false });
        return text === undefined
          ? !owner.chosen_by_tenant
          : isTheirs(parsed.get(name)?.text === text ? parsed.get(name)?.result.owned_by : ownerIn(text), owner);
      } catch {
        // Nobody knows at the moment; the attempt itself will tell.
        return true;
      }
    },
  };
}

/** `tenant_id` of a credential that every tenant may use. */
const EVERY_TENANT = '*';

function isTheirs(owned_by: string | undefined, { tenant_id, chosen_by_tenant }: CredentialOwner): boolean {
  return owned_by === undefined ? !chosen_by_tenant : owned_by === EVERY_TENANT || owned_by === tenant_id;
}

/** The same for a secret that is missing, another tenant's and nobody's. */
function notUsable(name: string): Refused {
  const rule = `notifications from the API need one whose tenant_id is the tenant's, or "${EVERY_TENANT}" for all`;
  return refused('AUTH_FAILED', `there is no secret ${name} that this tenant may use: ${rule}`);
}

interface Parsed<T> {
  readonly owned_by: string | undefined;
  readonly result: { readonly ok: true; readonly credential: T } | Refused;
}

const ownership = v.object({ tenant_id: v.optional(v.string()) });

function ownerIn(text: string): string | undefined {
  const owner = v.safeParse(ownership, parseJsonObject(text));
  return owner.success ? owner.output.tenant_id : undefined;
}

function parse<T>(name: string, text: string, shape: CredentialShape<T>): Parsed<T> {
  const value = parseJsonObject(text);
  if (value === undefined) {
    return { owned_by: undefined, result: refused('AUTH_FAILED', `the secret ${name} is not a JSON object`) };
  }
  const owner = v.safeParse(ownership, value);
  const credential = v.safeParse(shape, value);
  const owned_by = owner.success ? owner.output.tenant_id : undefined;
  if (owner.success && credential.success) return { owned_by, result: { ok: true, credential: credential.output } };
  const issues = [...(owner.issues ?? []), ...(credential.issues ?? [])];
  return { owned_by, result: refused('AUTH_FAILED', `the secret ${name} is malformed: ${describeIssues(issues)}`) };
}

const TYPE_OF: Readonly<Record<SecretFault, ProviderErrorType>> = {
  denied: 'PERMISSION_DENIED',
  malformed: 'AUTH_FAILED',
  temporary: 'AUTH_TEMPORARY',
};

async function read(source: SecretSource, name: string, fresh: boolean): Promise<string | undefined | Refused> {
  try {
    return await source.get(name, { fresh });
  } catch (error) {
    if (!(error instanceof SecretUnavailableError)) throw error;
    return refused(TYPE_OF[error.fault], error.message);
  }
}

function refused(error_type: ProviderErrorType, message: string): Refused {
  return { ok: false, error_type, message, details: { stage: 'credential' } };
}
