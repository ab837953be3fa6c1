/**
 * What a path has in place of the parameters of a pattern such as `/v1/emails/{email_id}`, escaped as it came. A
 * parameter is one segment that is not empty; `{token+}`, which comes last, all that follows. Undefined when the path
 * has another form.
 */
export function pathParameters(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const isGreedy = wanted.at(-1)?.endsWith('+}') ?? false;
  const all = path.split('/');
  const given = isGreedy ? [...all.slice(0, wanted.length - 1), all.slice(wanted.length - 1).join('/')] : all;
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const segment = given[i] ?? '';
    const name = /^\{(\w+)\+?\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === '') return undefined;
    if (name !== undefined) found[name] = segment;
  }
  return found;
}

/** Compares matches of one path: fewer parameters come first, so a literal segment goes before a parameter. */
export function byFewerParameters(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): number {
  return Object.keys(a).length - Object.keys(b).length;
}

export interface Match {
  readonly key: string;
  readonly path: Readonly<Record<string, string>>;
}

/**
 * The route for a request, with its parameters decoded: a literal segment comes before a parameter. Undefined where no
 * route fits, or where a segment has an escape that is none.
 * @param keys as API Gateway names routes: `GET /v1/emails/{email_id}`
 */
export function matchRoute(keys: readonly string[], method: string, path: string): Match | undefined {
  const matches = keys.flatMap((key): Match[] => {
    const [wanted, pattern = ''] = key.split(' ');
    const found = wanted === method ? pathParameters(pattern, path) : undefined;
    return found === undefined ? [] : [{ key, path: found }];
  });
  const [first] = matches.sort((a, b) => byFewerParameters(a.path, b.path));
  try {
    return first && { key: first.key, path: inPath(first.path, decodeURIComponent) };
  } catch {
    return undefined;
  }
}

/** @param decode what the front has not decoded yet. @throws as it does */
export function inPath(
  found: Readonly<Record<string, string | undefined>>,
  decode: (segment: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(found).map(([name, segment = '']) => [name, textOf(decode(segment))]));
}

/**
 * What a client has written into a segment: `~` and the base64url of an id whose escapes API Gateway does not pass on.
 * Any other segment is the id itself, as one that needs no code may look like a coded one: `~YWJj` is not `abc`.
 */
function textOf(segment: string): string {
  if (!segment.startsWith('~')) return segment;
  const text = Buffer.from(segment.slice(1), 'base64url').toString();
  return pathSegment(text) === segment ? text : segment;
}

/** A name that comes twice keeps both values, so that no schema takes one of them for all there was. */
export function queryOf(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(',')]));
}

/**
 * An id as a segment of a path. API Gateway decodes paths twice and splits them in between: an id with one of these
 * characters goes as `~` and its base64url, as no escape of it comes through.
 */
export function pathSegment(id: string): string {
  if (!/[/\\?#%+;~\p{Cc}]|^\.*$/u.test(id)) return encodeURIComponent(id);
  const bytes = String.fromCharCode(...new TextEncoder().encode(id));
  return `~${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
