import { describe, expect, it } from 'vitest';
import { requestOf } from '../../src/http/kernel.ts';

describe('an event of an HTTP API', () => {
  const event = {
    version: '2.0',
    routeKey: 'POST /v1/notifications',
    rawPath: '/v1/notifications',
    rawQueryString: '',
    headers: {},
    requestContext: { http: { method: 'POST' } },
    isBase64Encoded: false,
  };

  it.each([
    ['leaves out', {}],
    ['sends null for', { pathParameters: null, body: null }],
  ])('is a request where a gateway %s what is not there', (_, rest) => {
    const { matched, body } = requestOf({ ...event, ...rest } as unknown as Parameters<typeof requestOf>[0], undefined);
    expect(matched).toEqual({ key: event.routeKey, path: {} });
    expect(body).toHaveLength(0);
  });
});
