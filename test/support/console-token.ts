/** The header of a token with these claims. Nobody checks its signature behind API Gateway. */
export function bearer(claims: object): string {
  return `Bearer eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
}

/** API Gateway passes every claim on as a text, and a list as `[a b]`. */
export function asApiGateway(claims: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const text = (value: unknown) => (Array.isArray(value) ? `[${value.join(' ')}]` : String(value));
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, text(value)]));
}
