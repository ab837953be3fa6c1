import { byFewerParameters, pathParameters } from '../../../adapters/routing/path-parameters.ts';
import type { HttpRoutePlan } from '../template/http-apis.ts';

export interface RouteMatch {
  readonly route: HttpRoutePlan;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** The route for a request. As on API Gateway, a route with fewer parameters comes first and `$default` comes last. */
export function matchRoute(routes: readonly HttpRoutePlan[], method: string, path: string): RouteMatch | undefined {
  const matches = routes.flatMap((route): RouteMatch[] => {
    const [wanted = '', pattern = ''] = route.routeKey.split(' ');
    const found = wanted === method || wanted === 'ANY' ? pathParameters(pattern, path) : undefined;
    return found === undefined ? [] : [{ route, pathParameters: found }];
  });
  const [match] = matches.sort((a, b) => byFewerParameters(a.pathParameters, b.pathParameters));
  if (match !== undefined) {
    const parameters = Object.entries(match.pathParameters).map(([name, segment]) => [name, decoded(segment)]);
    return { route: match.route, pathParameters: Object.fromEntries(parameters) };
  }
  const rest = routes.find(({ routeKey }) => routeKey === '$default');
  return rest && { route: rest, pathParameters: {} };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
