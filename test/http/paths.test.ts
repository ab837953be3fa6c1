import { expect, it } from 'vitest';
import * as client from '../../src/client/handover/retry-rules.ts';
import { byFewerParameters, matchRoute, pathParameters, pathSegment } from '../../src/http/paths.ts';

it.each([
  ['/v1/emails/{email_id}', '/v1/emails/a%20b', { email_id: 'a%20b' }],
  ['/v1/emails/{email_id}/{action}', '/v1/emails/e/retry', { email_id: 'e', action: 'retry' }],
  ['/v1/emails', '/v1/emails', {}],
  ['/v1/emails/{email_id}', '/v1/emails/', undefined],
  ['/v1/emails/{email_id}', '/v1/emails/a/b', undefined],
  ['/v1/emails/{email_id}', '/v1/members/a', undefined],
])('%s finds in %s what stands for its parameters', (pattern, path, found) => {
  expect(pathParameters(pattern, path)).toEqual(found);
});

it('prefers a literal segment', () => expect([{ id: 'new' }, {}].sort(byFewerParameters)).toEqual([{}, { id: 'new' }]));

const IDS = ['NL001', 'a b', 'a/b', 'a?b#c', '50%', '%2F', '~YQ', '~', '..', 'a+b;c', '通知', 'a@b:c', 'a\\b'];

it.each(IDS)('an id %j comes back from a path', (id) => {
  const path = `/v1/emails/${pathSegment(id)}`;
  expect(new URL(path, 'http://localhost').pathname).toBe(path);
  expect(matchRoute(['GET /v1/emails/{email_id}'], 'GET', path)?.path).toEqual({ email_id: id });
  expect(client.pathSegment(id)).toBe(pathSegment(id));
});

it('an id that only looks like a coded one stays as it is', () => {
  for (const id of ['~a', '~Y Q', '~wyg', '~YQ==', '~YWJj', '~YQ', '~5pel'])
    expect(matchRoute(['GET /{id}'], 'GET', `/${encodeURIComponent(id)}`)?.path).toEqual({ id });
});

it.each([
  ['/u/a', 'a'],
  ['/u/a/', 'a/'],
  ['/u/a/b', 'a/b'],
])('a greedy parameter takes all that follows: %s', (path, token) => {
  expect(pathParameters('/u/{token+}', path)).toEqual({ token });
  expect(pathParameters('/u/{token+}', '/u/')).toBeUndefined();
  expect(pathParameters('/u/{token+}', '/u')).toBeUndefined();
});
