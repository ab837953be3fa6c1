import { Problem } from '../../core/model/problem.ts';

export interface Match {
  readonly key: string;
  readonly path: Readonly<Record<string, string>>;
}

/** The route for a request: a literal segment comes before a parameter. @throws Problem no-such-path */
export function matchRoute(keys: readonly string[], method: string, path: string): Match {
  const given = path.split('/');
  const matches = keys.flatMap((key): Match[] => {
    const [wanted, pattern = ''] = key.split(' ');
    const found = wanted === method ? parametersOf(pattern.split('/'), given) : undefined;
    return found === undefined ? [] : [{ key, path: found }];
  });
  const [first] = matches.sort((a, b) => Object.keys(a.path).length - Object.keys(b.path).length);
  if (first !== undefined) return first;
  throw new Problem('no-such-path', 'The console has no such path, or the path has no such method.');
}

function parametersOf(wanted: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const segment = given[i] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === '') return undefined;
    if (name !== undefined) found[name] = decoded(segment);
  }
  return found;
}

/** @throws Problem for an escape that is none */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Problem('no-such-path', 'The path has a malformed escape.');
  }
}
