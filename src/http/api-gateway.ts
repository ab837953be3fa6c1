import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { HttpAnswer, HttpRequest } from './kernel.ts';
import { queryOf } from './paths.ts';

/** An event in payload format 2.0, whatever authorizer there is. */
type ProxyEvent = Omit<APIGatewayProxyEventV2, 'requestContext'> & {
  readonly requestContext: { readonly http: { readonly method: string } };
};

export function requestOf<C>(event: ProxyEvent, caller: C): HttpRequest<C> {
  const { routeKey, rawPath, rawQueryString, pathParameters, headers, body, isBase64Encoded } = event;
  return {
    method: event.requestContext.http.method,
    // It comes decoded, and the kernel decodes what it matches.
    path: encodeURI(rawPath.toWellFormed()).replaceAll('#', '%23').replaceAll('?', '%3F'),
    // Gateways that are not AWS's send null for what is not there.
    matched: { key: routeKey, path: pathParameters ?? {} },
    query: queryOf(new URLSearchParams(rawQueryString)),
    headers,
    body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'),
    caller,
  };
}

export function resultOf({ status, headers, body }: HttpAnswer): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}
