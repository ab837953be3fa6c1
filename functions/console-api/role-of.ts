import type { Caller } from '../../src/operator-service/route.ts';

export interface RoleRules {
  readonly claim: string;
  readonly operators: readonly string[];
  readonly viewers: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * The caller by the claims of an access token that API Gateway has checked; undefined when they give no role. An address
 * names a person best, else the name that the issuer gave, else its id.
 */
export function callerOf(claims: Claims, { claim, operators, viewers }: RoleRules): Caller | undefined {
  const who = ['email', 'preferred_username', 'username', 'sub'].map((name) => claims[name]).find(isText);
  const values = valuesOf(claims[claim]);
  if (who === undefined) return undefined;
  if (operators.some((value) => values.includes(value))) return { who, role: 'operator' };
  return viewers.some((value) => values.includes(value)) ? { who, role: 'viewer' } : undefined;
}

/** API Gateway passes a list on as the text `[operator viewer]`. */
function valuesOf(claim: unknown): readonly string[] {
  if (Array.isArray(claim)) return claim.map(String);
  return typeof claim === 'string' ? claim.replace(/^\[|\]$/g, '').split(/[\s,]+/) : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
