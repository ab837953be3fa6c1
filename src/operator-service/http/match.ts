import { byFewerParameters, pathParameters } from '../../adapters/routing/path-parameters.ts';
import { Problem } from '../../core/model/problem.ts';

export interface Match {
  readonly key: string;
  readonly path: Readonly<Record<string, string>>;
}

/** The route for a request: a literal segment comes before a parameter. @throws Problem no-such-path */
export function matchRoute(keys: readonly string[], method: string, path: string): Match {
  const matches = keys.flatMap((key): Match[] => {
    const [wanted, pattern = ''] = key.split(' ');
    const found = wanted === method ? pathParameters(pattern, path) : undefined;
    return found === undefined ? [] : [{ key, path: found }];
  });
  const [first] = matches.sort((a, b) => byFewerParameters(a.path, b.path));
  if (first === undefined) {
    throw new Problem('no-such-path', 'The console has no such path, or the path has no such method.');
  }
  const decodedPath = Object.entries(first.path).map(([name, segment]) => [name, decoded(segment)]);
  return { key: first.key, path: Object.fromEntries(decodedPath) };
}

/** @throws Problem for an escape that is none */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Problem('no-such-path', 'The path has a malformed escape.');
  }
}
