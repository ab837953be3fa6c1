import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { HttpAnswer, HttpRequest } from './kernel.ts';

/** An event in payload format 2.0, whatever authorizer there is. */
type ProxyEvent = Omit<APIGatewayProxyEventV2, 'requestContext'> & {
  readonly requestContext: { readonly http: { readonly method: string } };
};

export function requestOf<C>(event: ProxyEvent, caller: C): HttpRequest<C> {
  const { routeKey, rawPath, rawQueryString, pathParameters = {}, headers, body = '', isBase64Encoded } = event;
  const query = new URLSearchParams(rawQueryString);
  return {
    method: event.requestContext.http.method,
    path: rawPath,
    matched: { key: routeKey, path: pathParameters },
    // A name that comes twice keeps both values, so that no schema takes one of them for all there was.
    query: Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(',')])),
    headers,
    body: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'),
    caller,
  };
}

export function resultOf({ status, headers, body }: HttpAnswer): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}
