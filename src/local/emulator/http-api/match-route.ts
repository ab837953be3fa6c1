import type { HttpRoutePlan } from '../template/http-apis.ts';

export interface RouteMatch {
  readonly route: HttpRoutePlan;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** The route for a request. As on API Gateway, a route with fewer parameters comes first and `$default` comes last. */
export function matchRoute(routes: readonly HttpRoutePlan[], method: string, path: string): RouteMatch | undefined {
  const matches = routes.flatMap((route) => {
    const [wanted = '', pattern = ''] = route.routeKey.split(' ');
    const pathParameters = wanted === method || wanted === 'ANY' ? parametersOf(pattern, path) : undefined;
    return pathParameters === undefined ? [] : [{ route, pathParameters }];
  });
  const [match] = matches.sort((a, b) => Object.keys(a.pathParameters).length - Object.keys(b.pathParameters).length);
  const rest = routes.find(({ routeKey }) => routeKey === '$default');
  return match ?? (rest && { route: rest, pathParameters: {} });
}

function parametersOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
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

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
