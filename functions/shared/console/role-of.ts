import type { Caller } from '../../../src/application/route.ts';
import { jsonObject } from '../../../src/core/model/text.ts';

export interface RoleRules {
  readonly claim: string;
  readonly operators: readonly string[];
  readonly viewers: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

/** Claims that are lists in one text by their own specification (RFC 8693, 4.2). */
const LISTS: readonly string[] = ['scope', 'scp'];

/**
 * The caller by an access token that API Gateway has checked; undefined when it gives no role. API Gateway passes a list
 * on as the text `[a b]`, in which a group named `my operator` reads like two: so the values are taken from the token
 * itself, whole.
 * @param verified the claims as API Gateway passes them on: the token must be the one that it checked
 */
export function callerOf(
  authorization: string | undefined,
  verified: Claims,
  { claim, operators, viewers }: RoleRules,
): Caller | undefined {
  const claims = claimsIn(authorization);
  const who = claims['sub'];
  // The issuer chooses it once and never again; people may change their names and addresses.
  if (!isText(who) || ['sub', 'iss'].some((name) => String(claims[name]) !== String(verified[name]))) return undefined;
  if (isIdToken(claims)) return undefined;
  const values = valuesOf(claim, claims[claim]);
  const role = operators.some((value) => values.includes(value))
    ? 'operator'
    : viewers.some((value) => values.includes(value)) && 'viewer';
  if (!role) return undefined;
  const name = ['email', 'preferred_username', 'username'].map((one) => claims[one]).find(isText);
  return { who, role, ...(name !== undefined && { name }) };
}

/** The claims of a JWT whose signature somebody else has checked. */
function claimsIn(authorization = ''): Claims {
  const [, payload = ''] = /^bearer +[\w-]+\.([\w-]+)\.[\w-]+$/i.exec(authorization) ?? [];
  return jsonObject(Buffer.from(payload, 'base64url').toString()) ?? {};
}

/** An ID token tells the page who signed in; it travels elsewhere and lives longer. The page asks with a nonce. */
function isIdToken(claims: Claims): boolean {
  return claims['token_use'] === 'id' || claims['nonce'] !== undefined || claims['at_hash'] !== undefined;
}

function valuesOf(name: string, claim: unknown): readonly unknown[] {
  if (Array.isArray(claim)) return claim;
  if (!isText(claim)) return [];
  return LISTS.includes(name) ? claim.split(' ') : [claim];
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
